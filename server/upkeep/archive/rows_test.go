package archive_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// The rows of a board are read back as they were, and a file that is missing or damaged is an
// error that names it.
func TestReadArchivedRows(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.conn.Do(t, `update `+r.leaf+` set board_id = 'other', action = '"board_id":"global"' where version % 5 = 0`)
	a := r.archive(r.Archive, keep)
	if _, err := a.ArchiveOld(t.Context()); err != nil {
		t.Fatal(err)
	}
	from, err := time.Parse("20060102", strings.TrimPrefix(r.leaf, "user_score_histories_"))
	if err != nil {
		t.Fatal(err)
	}
	read := func(board scoreboard.BoardID, since, to time.Time) (rows []scoreboard.ArchivedRow, err error) {
		err = a.Rows(t.Context(), board, since, to, func(r *scoreboard.ArchivedRow) error {
			if r.Board == board {
				rows = append(rows, *r)
			}
			return nil
		})
		return rows, err
	}
	rows, err := read("global", from, from.AddDate(0, 0, 3))
	if err != nil || len(rows) != oldRows*4/5 {
		t.Fatalf("got %d rows, %v, want %d", len(rows), err, oldRows*4/5)
	}
	got := rows[2]
	if got.User != "alice" || got.Delta != 1 || got.Applied != 1 || *got.Previous != 2 || got.Score != 3 ||
		got.Version != 3 || got.Source != scoreboard.SourceAPI || got.Event == (scoreboard.RowEventID{}) ||
		!got.At.Equal(from.Add(3123456*time.Microsecond)) {
		t.Errorf("got %+v, want alice's third event", got)
	}
	for what, bounds := range map[string][2]time.Time{
		"before": {from.AddDate(0, -2, 0), from.Add(-time.Second)}, "after": {from.AddDate(0, 1, 0), time.Now()},
	} {
		if rows, err := read("global", bounds[0], bounds[1]); err != nil || len(rows) != 0 {
			t.Errorf("%s the partition: got %d rows, %v", what, len(rows), err)
		}
	}
	file := filepath.Join(r.dir, r.leaf+".ndjson.zst")
	packed, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	fails := func(what, want string) {
		t.Helper()
		_, err := read("global", from, time.Now())
		if wire.CodeOf(err) != wire.CodeUnavailable || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want an unavailable with %q", what, err, want)
		}
	}
	for what, content := range map[string][]byte{
		"shortened": packed[:len(packed)/2], "empty": nil, "longer": append(packed[:len(packed):len(packed)], 0),
	} {
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
		fails(what, "archive file "+r.leaf+".ndjson.zst is damaged")
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	fails("without the file", "archive file "+r.leaf+".ndjson.zst is missing")
	if err := os.Remove(filepath.Join(r.dir, r.leaf+".json")); err != nil {
		t.Fatal(err)
	}
	fails("without the manifest", "archive file "+r.leaf+".json is missing")
}
