package dialect_test

import (
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/server/http/dialect"
	"github.com/scoreboard/scoreboard/server/realtime"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Specification E allows one event in 500 ms, and 20 in a minute.
func TestPaceOfPlainStream(t *testing.T) {
	t.Parallel()
	f := dialect.PlainStream
	if minute := f.Burst + int(time.Minute/f.Refill); minute > 20 || f.Interval < 500*time.Millisecond {
		t.Errorf("%d events in a minute and one in %s, want at most 20 and one in 500 ms", minute, f.Interval)
	}
}

func TestStreamFramesAreGolden(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 2, 2, 10, 30, 1, 0, time.UTC)
	alice := &scoreboard.Profile{DisplayName: "Alice", AvatarURL: "https://img.example/a.png"}
	rows := []scoreboard.Entry{
		{Rank: 1, User: "p1", Score: 50_000, Profile: alice},
		{Rank: 2, User: "42", Score: 48_500, Profile: &scoreboard.Profile{AvatarURL: "https://img.example/b.png"}},
		{Rank: 3, User: "007", Score: -1},
	}
	view := &realtime.StateView{
		TS: at, AsOf: at.Add(1500 * time.Millisecond), Rows: rows,
		Reached: []time.Time{at, at.Add(-time.Second), at.Add(-time.Microsecond)},
	}
	empty := &realtime.StateView{TS: at, AsOf: at}
	cases := []struct {
		name   string
		format *realtime.Format
		view   *realtime.StateView
		kind   string
		want   string
	}{
		{
			"highscore", dialect.HighscoreStream, view, "LEADERBOARD_UPDATE",
			`{"type":"LEADERBOARD_UPDATE","data":{"entries":[` +
				`{"rank":1,"player_id":"p1","username":"Alice","score":50000,` +
				`"avatar_url":"https://img.example/a.png"},` +
				`{"rank":2,"player_id":"42","username":"42","score":48500,"avatar_url":"https://img.example/b.png"},` +
				`{"rank":3,"player_id":"007","username":"007","score":-1}],"updated_at":"2026-02-02T10:30:01Z"}}`,
		},
		{
			"highscore, empty", dialect.HighscoreStream, empty, "LEADERBOARD_UPDATE",
			`{"type":"LEADERBOARD_UPDATE","data":{"entries":[],"updated_at":"2026-02-02T10:30:01Z"}}`,
		},
		{
			"delta", dialect.DeltaStream, view, "leaderboard_update",
			`{"type":"leaderboard_update","top":[` +
				`{"rank":1,"userId":"p1","username":"Alice","score":50000},` +
				`{"rank":2,"userId":"42","username":"42","score":48500},` +
				`{"rank":3,"userId":"007","username":"007","score":-1}],"asOf":"2026-02-02T10:30:02.5Z"}`,
		},
		{
			"delta, empty", dialect.DeltaStream, empty, "leaderboard_update",
			`{"type":"leaderboard_update","top":[],"asOf":"2026-02-02T10:30:01Z"}`,
		},
		{
			"plain", dialect.PlainStream, view, "leaderboard",
			`[{"userId":"p1","nickName":"Alice","score":50000,"rank":1,"updatedAt":"2026-02-02T10:30:01Z"},` +
				`{"userId":42,"nickName":"42","score":48500,"rank":2,"updatedAt":"2026-02-02T10:30:00Z"},` +
				`{"userId":"007","nickName":"007","score":-1,"rank":3,"updatedAt":"2026-02-02T10:30:00.999999Z"}]`,
		},
		{"plain, empty", dialect.PlainStream, empty, "leaderboard", `[]`},
	}
	for _, c := range cases {
		f := c.format.State(c.view)
		if got := string(f.JSON); got != c.want || f.Kind != c.kind {
			t.Errorf("%s: a frame %s\ngot  %s\nwant %s", c.name, f.Kind, got, c.want)
		}
	}
}

func TestScoreUpdateFramesAreGolden(t *testing.T) {
	t.Parallel()
	rank := func(n int64) *int64 { return &n }
	for _, c := range []struct {
		previous *int64
		change   string
	}{{rank(452), "+32"}, {rank(417), "-3"}, {rank(420), "+0"}, {nil, "+0"}} {
		f := dialect.HighscoreStream.Rank(&realtime.RankView{
			User: "user_123", Score: 12_500, Rank: 420, Previous: c.previous,
		})
		want := `{"type":"SCORE_UPDATE","data":{"player_id":"user_123","new_score":12500,"new_rank":420,` +
			`"rank_change":"` + c.change + `"}}`
		if got := string(f.JSON); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

func TestPlainUserIDs(t *testing.T) {
	t.Parallel()
	for id, want := range map[scoreboard.UserID]string{
		"0": "0", "1": "1", "9007199254740991": "9007199254740991", "9007199254740992": `"9007199254740992"`,
		"00": `"00"`, "-1": `"-1"`, "+1": `"+1"`, "1e3": `"1e3"`, "1.0": `"1.0"`, "0x1": `"0x1"`, "1_0": `"1_0"`,
		"18446744073709551617": `"18446744073709551617"`, "alice": `"alice"`,
	} {
		f := dialect.PlainStream.State(&realtime.StateView{
			Rows: []scoreboard.Entry{{Rank: 1, User: id}}, Reached: []time.Time{time.Unix(0, 0)},
		})
		want := `[{"userId":` + want + `,"nickName":"` + string(id) +
			`","score":0,"rank":1,"updatedAt":"1970-01-01T00:00:00Z"}]`
		if got := string(f.JSON); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}
