package server_test

import (
	"encoding/json"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/server/http/auth"
)

// bandOfPage finds the bands of a command in docs/rewards.md.
var bandOfPage = regexp.MustCompile(`--band '([^']+)'`)

// tableOfPage returns the table that docs/rewards.md sets for a board.
func tableOfPage(t *testing.T, board string) (table client.RewardTableRequest) {
	t.Helper()
	page, err := os.ReadFile("../docs/rewards.md")
	if err != nil {
		t.Fatal(err)
	}
	_, command, _ := strings.Cut(string(page), "sbctl board rewards set "+board+" ")
	command, _, _ = strings.Cut(command, "\n")
	for _, text := range bandOfPage.FindAllStringSubmatch(command, -1) {
		band, err := wire.ParseRewardBand(text[1])
		if err != nil {
			t.Fatal(err)
		}
		table.Bands = append(table.Bands, band)
	}
	return table
}

// The example of docs/rewards.md: a season ends, its winners have rewards, and one is claimed, once.
func TestRewardsOfASeason(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	n := h.start(allRoles, "transport", "direct", "boards-close-grace", "1s")
	c := n.client("root", auth.ScopeAdmin+" "+auth.ScopeUpdate)
	end := time.Now().Add(time.Hour).UTC()
	_, err := c.CreateBoard(t.Context(), client.BoardRequest{
		Board: "arena", Period: "season", Season: "one", EndsAt: &end, Mode: "best",
		Tiers: []client.Tier{{Name: "gold", Score: new(int64(1000))}},
	})
	if err != nil {
		t.Fatal(err)
	}
	set, err := c.SetRewardTable(t.Context(), "arena", tableOfPage(t, "trophy"))
	if err != nil || len(set.Bands) != 3 || set.Bands[2].String() != "tier:gold" || set.Expires != "2160h0m0s" {
		t.Fatalf("got %+v, %v, want the three bands of the page", set, err)
	}
	scores := map[string]int64{"ada": 3000, "bob": 2000, "cy": 1500, "dan": 1200, "eve": 1100, "fay": 900}
	for user, score := range scores {
		if _, err := c.Submit(t.Context(), client.Increment{User: user, Board: "arena", Delta: score}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.Ban(t.Context(), "bob", "a bot"); err != nil {
		t.Fatal(err)
	}
	later := end.Add(time.Hour)
	if _, err := c.RollBoards(t.Context(), "arena", client.RollRequest{Season: "two", EndsAt: &later}); err != nil {
		t.Fatal(err)
	}
	ada := n.client("ada", "")
	var won client.Rewards
	h.await("the rewards of the first season", func() bool {
		won, err = ada.Rewards(t.Context(), client.RewardQuery{State: "claimable"})
		return err == nil && len(won.Rewards) == 1
	})
	r := won.Rewards[0]
	if string(r.Reward) != `{"gems":500}` || r.Rank != 1 || r.Board != "arena:one" || r.UserID != "ada" {
		t.Errorf("got %+v", r)
	}
	all, err := c.BoardRewards(t.Context(), "arena:one", "", "", 0)
	for state, want := range map[string]int{"claimable": 4, "claimed": 0} {
		some, err := c.BoardRewards(t.Context(), "arena:one", state, "", 0)
		if err != nil || len(some.Rewards) != want {
			t.Errorf("%s: got %+v, %v, want %d", state, some, err, want)
		}
	}
	got := map[string]string{}
	for _, r := range all.Rewards {
		got[r.UserID] = string(r.Reward)
	}
	const first, chest = `{"gems":500}`, `{"chest":"gold"}`
	for user, want := range map[string]string{
		"ada": first, "cy": first, "dan": first, "eve": chest, "fay": "", "bob": "",
	} {
		if err != nil || got[user] != want {
			t.Errorf("%s: got %q, %v, want %q", user, got[user], err, want)
		}
	}
	var receipts []string
	for _, claim := range []func() (client.Reward, error){
		func() (client.Reward, error) { return ada.ClaimReward(t.Context(), "", r.ID) },
		func() (client.Reward, error) { return ada.ClaimReward(t.Context(), "ada", r.ID) },
		func() (client.Reward, error) { return c.ClaimReward(t.Context(), "ada", r.ID) },
	} {
		got, err := claim()
		if err != nil || got.State != "claimed" || got.ClaimedAt == nil {
			t.Fatalf("got %+v, %v", got, err)
		}
		receipts = append(receipts, got.ClaimedAt.String())
	}
	if receipts[0] != receipts[1] || receipts[1] != receipts[2] {
		t.Errorf("got %v, want the same receipt", receipts)
	}
	for path, want := range map[string]int{
		"/v1/users/eve/rewards":              http.StatusForbidden,
		"/v1/users/me/rewards?state=open":    http.StatusBadRequest,
		"/v1/users/me/rewards?limit=1001":    http.StatusBadRequest,
		"/v1/users/me/rewards?state=claimed": http.StatusOK,
		"/v1/admin/rewards?board=arena:one":  http.StatusForbidden,
		"/v1/boards/arena/rewards":           http.StatusOK,
		"/v1/boards/none/rewards":            http.StatusNotFound,
	} {
		if got, body := h.get(t, n.URL+path, bearer(h.token("ada", "", time.Minute))); got != want {
			t.Errorf("%s: got %d %s, want %d", path, got, body, want)
		}
	}
	for _, bad := range []string{
		`{}`, `{"bands":[{"reward":1}]}`, `{"bands":[{"last_rank":1,"tier":"gold","reward":1}]}`,
		`{"bands":[{"last_rank":1}]}`, `{"bands":[{"tier":"iron","reward":1}]}`,
		`{"bands":[],"expires":"1ms"}`, `{"bands":[{"first_rank":3,"last_rank":2,"reward":1}]}`,
		`{"bands":[{"percentile":101,"reward":1}]}`,
	} {
		token := bearer(h.token("root", auth.ScopeAdmin, time.Minute))
		status, _, answer := request(t, http.MethodPut, n.URL+"/v1/boards/arena/rewards", bad, token)
		if status != 400 {
			t.Errorf("%s: got %d %s, want 400", bad, status, answer)
		}
	}
	// The server does not interpret a reward.
	deep := strings.Repeat("[", 13) + "1" + strings.Repeat("]", 13)
	for reward, want := range map[string]int{
		`{"itemId":null,"Größe":[1.50,"\u0000"]}`: 200, `null`: 200, deep: 200,
		"[" + deep + "]": 400, `{"a":1,"a":2}`: 400,
		`"` + strings.Repeat("x", 2046) + `"`: 200, `"` + strings.Repeat("x", 2047) + `"`: 400,
	} {
		token := bearer(h.token("root", auth.ScopeAdmin, time.Minute))
		body := `{"bands":[{"last_rank":1,"reward":` + reward + `}]}`
		status, _, answer := request(t, http.MethodPut, n.URL+"/v1/boards/arena/rewards", body, token)
		if status != want || want == 200 && !strings.Contains(answer, `"reward":`+reward) {
			t.Errorf("%.60s: got %d %.200s, want %d", reward, status, answer, want)
		}
	}
	verifyRewards(t, h, c)
	voidOfWinners(t, h, c, ada)
	if _, err := c.Erase(t.Context(), "cy", "asked for it"); err != nil {
		t.Fatal(err)
	}
	if page, err := c.Rewards(t.Context(), client.RewardQuery{User: "cy"}); err != nil || len(page.Rewards) != 0 {
		t.Errorf("an erased user: got %+v, %v, want none", page, err)
	}
}

// voidOfWinners voids all events: the preview, the void and the winners say which rewards it takes back.
func voidOfWinners(t *testing.T, h *harness, c, ada *client.Client) {
	t.Helper()
	of := client.VoidRequest{
		Address: "127.0.0.1", From: time.Now().Add(-time.Hour), To: time.Now().Add(-time.Millisecond), Reason: "a test",
	}
	preview, err := c.PreviewVoid(t.Context(), of)
	if err != nil || preview.Rewards == nil || preview.Rewards.Revoked != 3 || preview.Rewards.Flagged != 1 ||
		len(preview.Rewards.First) != 4 || preview.Rewards.First[0].State != "claimed" {
		t.Fatalf("preview: got %+v, %v, want the claimed reward of ada and three others", preview.Rewards, err)
	}
	v, err := c.CreateVoid(t.Context(), of)
	if err != nil {
		t.Fatal(err)
	}
	h.await("the end of the void", func() bool {
		v, err = c.Void(t.Context(), v.ID)
		return err == nil && v.State == "done"
	})
	if v.Rewards == nil || v.Rewards.Revoked != 3 || v.Rewards.Flagged != 1 {
		t.Errorf("got %+v, want three revoked rewards and one that is flagged", v.Rewards)
	}
	got, err := ada.Rewards(t.Context(), client.RewardQuery{})
	if err != nil || len(got.Rewards) != 1 || !got.Rewards[0].Flagged || got.Rewards[0].State != "claimed" {
		t.Errorf("got %+v, %v, want it claimed and flagged", got, err)
	}
}

// verifyRewards has a grant damaged, which verify and reconcile find and do not repair.
func verifyRewards(t *testing.T, h *harness, c *client.Client) {
	t.Helper()
	db := backends.Connect(t, h.postgres)
	h.await("the end of the grants", func() bool {
		return db.Count(t, `select count(*) from reward_runs
where board_id = 'arena:one' and ended_at is not null`) == 1
	})
	for _, change := range []struct {
		sql   string
		kinds []string
	}{
		{`select 1`, nil},
		{`update reward_grants set band = band - 1 where user_id = 'eve'`, []string{"reward_wrong"}},
		{`update reward_grants set band = band + 1 where user_id = 'eve'`, nil},
	} {
		db.Do(t, change.sql)
		for what, do := range map[string]func() (client.JobLine, error){
			"verify": func() (client.JobLine, error) {
				return c.Verify(t.Context(), client.JobRequest{Board: "arena:one"}, func(client.JobLine) {})
			},
			"reconcile": func() (client.JobLine, error) {
				return c.Reconcile(t.Context(), client.JobRequest{Board: "arena:one", Repair: true},
					func(client.JobLine) {})
			},
		} {
			done, err := do()
			if err != nil || done.Verified == nil {
				t.Fatalf("%s: got %+v, %v", what, done, err)
			}
			var kinds []string
			for _, d := range done.Verified.Differences {
				kinds = append(kinds, d.Kind)
			}
			if !slices.Equal(kinds, change.kinds) || done.Verified.Rewards != 4 || done.Verified.Repaired != 0 {
				t.Errorf("%s after %s: got %+v, want differences %v of 4 rewards", what, change.sql, done.Verified,
					change.kinds)
			}
		}
	}
}

// The second table of docs/rewards.md: the players of each division of a league get a reward.
func TestRewardsByDivision(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	n := h.start(allRoles, "transport", "direct", "boards-close-grace", "1s")
	c := n.client("root", auth.ScopeAdmin+" "+auth.ScopeUpdate)
	end := time.Now().Add(time.Hour).UTC()
	_, err := c.CreateBoard(t.Context(), client.BoardRequest{
		Board: "clash", Period: "season", Season: "one", EndsAt: &end, League: &client.League{Divisions: 3},
	})
	if err != nil {
		t.Fatal(err)
	}
	set, err := c.SetRewardTable(t.Context(), "clash", tableOfPage(t, "clash"))
	if err != nil || len(set.Bands) != 3 || set.Bands[1].String() != "division:3" {
		t.Fatalf("got %+v, %v, want the three bands of the page", set, err)
	}
	for name, table := range map[string]client.RewardTableRequest{
		"no such division": {Bands: []client.RewardBand{{Division: 4, Reward: json.RawMessage("1")}}},
		"two bounds":       {Bands: []client.RewardBand{{Division: 1, LastRank: 1, Reward: json.RawMessage("1")}}},
		"below 1":          {Bands: []client.RewardBand{{Division: -1, Reward: json.RawMessage("1")}}},
	} {
		if _, err := c.SetRewardTable(t.Context(), "clash", table); wire.CodeOf(err) != wire.CodeInvalidRequest {
			t.Errorf("%s: got %v, want an invalid_request", name, err)
		}
	}
	conn := backends.Connect(t, h.postgres)
	for user, division := range map[string]int{"ada": 3, "bob": 2, "cy": 3, "dan": 2, "eve": 3} {
		conn.Do(t, `insert into league_divisions values ('clash', $1, $2)`, user, division)
	}
	for i, user := range []string{"ada", "bob", "cy", "dan", "eve", "fay"} {
		in := client.Increment{User: user, Board: "clash", Delta: int64(100 - i)}
		if _, err := c.Submit(t.Context(), in); err != nil {
			t.Fatal(err)
		}
	}
	later := end.Add(time.Hour)
	if _, err := c.RollBoards(t.Context(), "clash", client.RollRequest{Season: "two", EndsAt: &later}); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	h.await("the rewards of the first season", func() bool {
		all, err := c.BoardRewards(t.Context(), "clash:one", "", "", 0)
		if err != nil {
			return false
		}
		for _, r := range all.Rewards {
			got[r.UserID] = string(r.Reward)
		}
		return len(got) >= 5
	})
	const first = `{"gems":500}`
	for user, want := range map[string]string{
		"ada": first, "bob": first, "cy": first, "dan": `{"gems":50}`, "eve": `{"chest":"gold"}`, "fay": "",
	} {
		if got[user] != want {
			t.Errorf("%s: got %q, want %q", user, got[user], want)
		}
	}
}

// Users who have left all boards get a reward only if the table says so: for the rank that they would have had.
// Nobody learns of it but they themselves, servers and operators.
func TestRewardsOfPrivateUsers(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	n := h.start(allRoles, "transport", "direct", "boards-close-grace", "1s")
	c := n.client("root", auth.ScopeAdmin+" "+auth.ScopeUpdate)
	end := time.Now().Add(time.Hour).UTC()
	bands := []client.RewardBand{
		{LastRank: 1, Reward: json.RawMessage(`1`)}, {LastRank: 3, Reward: json.RawMessage(`3`)},
	}
	for board, private := range map[string]bool{"shown": false, "both": true} {
		if _, err := c.CreateBoard(t.Context(), client.BoardRequest{
			Board: board, Period: "season", Season: "one", EndsAt: &end, Mode: "best",
		}); err != nil {
			t.Fatal(err)
		}
		set, err := c.SetRewardTable(t.Context(), board, client.RewardTableRequest{Bands: bands, Private: private})
		read, readErr := n.client("ada", "").RewardTable(t.Context(), board)
		if err != nil || readErr != nil || set.Private != private || read.Private != private {
			t.Fatalf("%s: got %+v and %+v, %v, %v, want private %t", board, set, read, err, readErr, private)
		}
		for user, score := range map[string]int64{"ada": 3, "hidden": 2, "cy": 1} {
			in := client.Increment{User: user, Board: board, Delta: score}
			if _, err := c.Submit(t.Context(), in); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, err := n.client("hidden", "").SetPrivacy(t.Context(), "hidden", "private"); err != nil {
		t.Fatal(err)
	}
	later := end.Add(time.Hour)
	for _, board := range []string{"shown", "both"} {
		if _, err := c.RollBoards(t.Context(), board, client.RollRequest{Season: "two", EndsAt: &later}); err != nil {
			t.Fatal(err)
		}
	}
	db := backends.Connect(t, h.postgres)
	h.await("the grants of both boards", func() bool {
		return db.Count(t, `select count(*) from reward_runs where ended_at is not null`) == 2
	})
	own, err := n.client("hidden", "").Rewards(t.Context(), client.RewardQuery{})
	if err != nil || len(own.Rewards) != 1 || own.Rewards[0].Board != "both:one" || own.Rewards[0].Rank != 2 ||
		string(own.Rewards[0].Reward) != `3` {
		t.Errorf("got %+v, %v, want the second place of both", own, err)
	}
	for board, want := range map[string]int{"shown:one": 2, "both:one": 3} {
		all, err := c.BoardRewards(t.Context(), board, "", "", 0)
		if err != nil || len(all.Rewards) != want {
			t.Errorf("%s: got %+v, %v, want %d rewards", board, all, err, want)
		}
		for _, r := range all.Rewards { // cy's rank does not count who has left
			if r.UserID == "cy" && r.Rank != 2 {
				t.Errorf("%s: cy has rank %d, want 2", board, r.Rank)
			}
		}
	}
	status, body := h.get(t, n.URL+"/v1/users/hidden/rewards", bearer(h.token("ada", "", time.Minute)))
	if status != http.StatusForbidden || strings.Contains(body, "both") {
		t.Errorf("another player reads the rewards: %d %s", status, body)
	}
}
