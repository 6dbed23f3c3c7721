package sources_test

import (
	"context"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/sources"
)

func TestMain(m *testing.M) { backends.Main(m) }

// nakama is a database with Nakama's tables and some boards.
func nakama(t *testing.T) (url string, db *backends.Conn) {
	t.Helper()
	url = backends.Postgres(t, func(context.Context, string) error { return nil })
	db = backends.Connect(t, url)
	for _, file := range []string{"testdata/nakama_schema.sql", "testdata/nakama_boards.sql"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		db.Do(t, string(text))
	}
	return url, db
}

func TestNakama(t *testing.T) {
	t.Parallel()
	url, db := nakama(t)
	n, err := sources.OpenNakama(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = n.Close() }()
	boards, err := n.Boards(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	type row struct {
		id, unsupported string
		mode            scoreboard.Mode
		order           scoreboard.Order
		period          scoreboard.Period
		records         int64
		lost            []string
	}
	want := []row{
		{"cup", "", "increment", "highest", "none", 1, []string{"the rules of the tournament"}},
		{"daily_laps", "", "best", "lowest", "daily", 2, []string{"1 records of past periods"}},
		{"debts", "no mode is like the operator decrement", "increment", "highest", "none", 0, nil},
		{"kills", "", "increment", "highest", "none", 4, nil},
		{"monthly", "", "latest", "highest", "monthly", 0, nil},
		{"odd", "", "best", "highest", "cron", 0, nil},
		{"often", `no period is like the reset schedule "0 */6 * * *"`, "best", "highest", "", 0, nil},
		{"weekly", "", "best", "highest", "weekly", 0, nil},
	}
	var got []row
	for _, b := range boards {
		got = append(got, row{b.ID, b.Unsupported, b.Mode, b.Order, b.Period, b.Records, b.Lost})
	}
	if !slices.EqualFunc(got, want, func(a, b row) bool {
		lost := slices.Equal(a.lost, b.lost)
		a.lost, b.lost = nil, nil
		return lost && a.id == b.id && a.unsupported == b.unsupported && a.mode == b.mode && a.order == b.order &&
			a.period == b.period && a.records == b.records
	}) {
		t.Errorf("got\n%+v\nwant\n%+v", got, want)
	}
	if boards[3].Subscores != 2 {
		t.Errorf("kills: got %d subscores, want 2", boards[3].Subscores)
	}
	const id = "00000000-0000-0000-0000-00000000000"
	for at, want := range map[int][]scoreboard.ImportRecord{
		1: {{User: id + "2", Score: 10}, {User: id + "1", Score: 12}},
		3: {
			{User: id + "4", Score: 90},
			{User: id + "1", Score: 50, Subscore: new(scoreboard.Score(9))},
			{User: id + "3", Score: 50, Subscore: new(scoreboard.Score(3))},
			{User: id + "2", Score: 50},
		},
	} {
		if records, err := n.Records(t.Context(), &boards[at]); err != nil || !reflect.DeepEqual(records, want) {
			t.Errorf("board %s: got %v, %v, want %v", boards[at].ID, records, err, want)
		}
	}
	// Metadata is read where it is asked for, without what the server would reject.
	for owner, metadata := range map[string]string{
		"1": `{"big": "` + strings.Repeat("x", scoreboard.MaxMetadata) + `"}`, "3": `{"id": 9007199254740993}`,
		"4": `{"a": [[[[[[[[1]]]]]]]]}`,
	} {
		db.Do(t, `update leaderboard_record set metadata = $2 where leaderboard_id = 'kills' and owner_id = $1`,
			id+owner, metadata)
	}
	kills := &boards[3]
	kills.Metadata = true
	want3 := []scoreboard.ImportRecord{
		{User: id + "4", Score: 90},
		{User: id + "1", Score: 50, Subscore: new(scoreboard.Score(9))},
		{User: id + "3", Score: 50, Subscore: new(scoreboard.Score(3))},
		{User: id + "2", Score: 50, Metadata: `{"level": 3}`},
	}
	if records, err := n.Records(t.Context(), kills); err != nil || !reflect.DeepEqual(records, want3) ||
		kills.Described != 1 || kills.Unfit != 3 {
		t.Errorf("got %v, %v, %d described, %d unfit", records, err, kills.Described, kills.Unfit)
	}
	if _, err := n.Boards(t.Context(), []string{"kills", "nowhere"}); err == nil {
		t.Error("a board that does not exist was found")
	}
}
