package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/internal/test/instance"
)

// importer runs imports into a server of its own.
type importer struct {
	t      *testing.T
	server *instance.Server
	env    []string
	client *client.Client
}

func newImporter(t *testing.T) *importer {
	t.Helper()
	s := instance.New(t)
	token := instance.Token("root", "score:admin")
	c, err := client.New(s.URL, client.Options{Token: token})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return &importer{t, s, []string{"SBCTL_SERVER=" + s.URL, "SBCTL_TOKEN=" + token, "HOME=" + t.TempDir()}, c}
}

// run imports and returns the exit code and the result of each board.
func (i *importer) run(ctx context.Context, args ...string) (code int, boards map[string]imported, printed string) {
	var out, errs bytes.Buffer
	args = append(append([]string{"import"}, args...), "--yes", "--output", "json")
	code = run(ctx, args, nil, &out, &errs, i.env)
	var all []imported
	if err := json.Unmarshal(out.Bytes(), &all); err != nil && out.Len() > 0 {
		i.t.Fatalf("%q: %v: %s", args, err, out.String())
	}
	boards = make(map[string]imported)
	for _, b := range all {
		boards[b.Board] = b
	}
	return code, boards, errs.String()
}

// standings returns the users and scores of a board in PostgreSQL, best first.
func (i *importer) standings(board string) []string {
	i.t.Helper()
	var all []string
	if _, err := i.client.ExportBoard(i.t.Context(), board, func(s client.Standing) error {
		all = append(all, fmt.Sprint(s.UserID, " ", s.Score))
		return nil
	}); err != nil {
		i.t.Fatal(err)
	}
	return all
}

// nakamaDatabase has Nakama's tables, with some leaderboards.
func nakamaDatabase(t *testing.T) (url string, db *backends.Conn) {
	t.Helper()
	url = backends.Postgres(t, func(context.Context, string) error { return nil })
	db = backends.Connect(t, url)
	for _, name := range []string{"nakama_schema.sql", "nakama_boards.sql"} {
		text, err := os.ReadFile(filepath.Join("..", "..", "server", "sources", "testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		db.Do(t, string(text))
	}
	return url, db
}

const nakamaUser = "00000000-0000-0000-0000-00000000000"

// Leaderboards of Nakama's own tables become boards with the same ranks. With --follow,
// what changes during the import arrives too.
func TestImportFromNakama(t *testing.T) {
	t.Parallel()
	i := newImporter(t)
	url, db := nakamaDatabase(t)
	kills := []string{nakamaUser + "4 90", nakamaUser + "1 50", nakamaUser + "3 50", nakamaUser + "2 50"}
	for _, written := range []int{4, 0} { // the second import finds nothing to write
		code, boards, errs := i.run(t.Context(), "nakama", "kills", "daily_laps", "--postgres", url)
		b := boards["kills"]
		if code != exitOK || b.Written != written || b.Users != 4 || b.Differences+b.Misplaced+b.Others != 0 {
			t.Fatalf("exit code %d, %+v, %s", code, boards, errs)
		}
		if got := i.standings("kills"); !slices.Equal(got, kills) {
			t.Errorf("got %q, want %q", got, kills)
		}
		laps := []string{nakamaUser + "2 10", nakamaUser + "1 12"}
		if got := i.standings("daily_laps"); !slices.Equal(got, laps) {
			t.Errorf("the lowest time first: got %q, want %q", got, laps)
		}
	}
	if b, err := i.client.Board(t.Context(), "kills"); err != nil || b.Subscore != "highest" {
		t.Errorf("got %+v, %v, want a board with subscores", b, err)
	}
	if b, err := i.client.Board(t.Context(), "daily_laps"); err != nil || b.Subscore != "" {
		t.Errorf("got %+v, %v, want a board without subscores", b, err)
	}
	// The board without a counterpart is named, and the others are imported.
	if code, boards, errs := i.run(t.Context(), "nakama", "debts", "cup", "--postgres", url); code != exitCheckFailed ||
		boards["cup"].Written != 1 || !strings.Contains(errs, "no mode is like the operator decrement") {
		t.Errorf("exit code %d, %+v, %s", code, boards, errs)
	}
	changed := make(chan struct{})
	go func() {
		defer close(changed)
		time.Sleep(500 * time.Millisecond) // after the first pass, before the next
		db.Do(t, `update leaderboard_record set score = 120 where leaderboard_id = 'kills' and owner_id = $1`,
			nakamaUser+"2")
		db.Do(t, `update leaderboard_record set score = 40 where leaderboard_id = 'kills' and owner_id = $1`,
			nakamaUser+"4")
		db.Do(t, `update leaderboard_record set subscore = 20 where leaderboard_id = 'kills' and owner_id = $1`,
			nakamaUser+"3")
	}()
	code, boards, errs := i.run(t.Context(), "nakama", "kills", "--postgres", url, "--follow", "--interval", "2s")
	<-changed
	if b := boards["kills"]; code != exitOK || b.Written != 3 || b.Differences+b.Misplaced != 0 {
		t.Errorf("exit code %d, %+v, %s", code, boards, errs)
	}
	want := []string{nakamaUser + "2 120", nakamaUser + "3 50", nakamaUser + "1 50", nakamaUser + "4 40"}
	if got := i.standings("kills"); !slices.Equal(got, want) {
		t.Errorf("after the changes: got %q", got)
	}
}

// Metadata of Nakama comes with the scores, to boards that keep it; the plan says what is left out.
func TestImportOfMetadata(t *testing.T) {
	t.Parallel()
	i := newImporter(t)
	url, db := nakamaDatabase(t)
	plan := func(want string, args ...string) {
		t.Helper()
		var out, errs bytes.Buffer
		args = append([]string{"import", "nakama", "kills", "--postgres", url, "--dry-run"}, args...)
		if code := run(t.Context(), args, nil, &out, &errs, i.env); code != exitOK ||
			strings.Contains(out.String(), "metadata") != (want != "") || !strings.Contains(out.String(), want) {
			t.Errorf("%q: exit code %d, %s%s, want %q", args, code, out.String(), errs.String(), want)
		}
	}
	plan("the metadata of 1 records")
	plan("", "--metadata", "public")
	db.Do(t, `update leaderboard_record set metadata = '{"id": 9007199254740993}' where score = 90`)
	plan("the metadata of 1 records, which is larger than 1024 bytes", "--metadata", "public")
	code, boards, errs := i.run(t.Context(), "nakama", "kills", "--postgres", url, "--metadata", "public")
	if b := boards["kills"]; code != exitOK || b.Written != 4 || b.Rejected != 0 {
		t.Fatalf("exit code %d, %+v, %s", code, boards, errs)
	}
	var got []string
	if _, err := i.client.ExportBoard(t.Context(), "kills", func(s client.Standing) error {
		got = append(got, string(s.Metadata))
		return nil
	}); err != nil || !slices.Equal(got, []string{"", "", "", `{"level":3}`}) {
		t.Errorf("got the metadata %q, %v", got, err)
	}
	plan("the metadata of 1 records, which") // the board keeps it by now
	if code, _, _ := i.run(t.Context(), "nakama", "kills", "--postgres", url, "--metadata", "all"); code != exitUsage {
		t.Errorf("--metadata all: exit code %d, want %d", code, exitUsage)
	}
}

// Sorted sets of Podium become boards; what is not a board of integers is named.
func TestImportFromPodium(t *testing.T) {
	t.Parallel()
	i := newImporter(t)
	url := backends.Redis(t)
	rdb := backends.RedisClient(t, url)
	add := func(board string, members ...redis.Z) {
		if err := rdb.ZAdd(t.Context(), board, members...).Err(); err != nil {
			t.Fatal(err)
		}
	}
	add("kills", redis.Z{Score: 50, Member: "ann"}, redis.Z{Score: 50, Member: "zoe"},
		redis.Z{Score: 90, Member: "bob"})
	if err := rdb.ZAdd(t.Context(), "kills:ttl", redis.Z{Score: 1.9e9, Member: "bob"}).Err(); err != nil {
		t.Fatal(err)
	}
	code, boards, errs := i.run(t.Context(), "podium", "kills", "--redis", url)
	if b := boards["kills"]; code != exitOK || b.Written != 3 || b.Differences+b.Misplaced != 0 {
		t.Fatalf("exit code %d, %+v, %s", code, boards, errs)
	}
	if got := i.standings("kills"); len(got) != 3 || got[0] != "bob 90" {
		t.Errorf("got %q", got)
	}
	add("kills", redis.Z{Score: 95, Member: "ann"})
	code, boards, errs = i.run(t.Context(), "podium", "kills", "--redis", url)
	if b := boards["kills"]; code != exitOK || b.Written != 1 || b.Differences != 0 {
		t.Errorf("a change: exit code %d, %+v, %s", code, boards, errs)
	}
	if got := i.standings("kills"); got[0] != "ann 95" || got[1] != "bob 90" {
		t.Errorf("after the change: got %q", got)
	}
}

// An import that ends in the middle is continued by the same command: every user has one
// event, and equal scores keep the order of the file.
func TestInterruptedImportContinues(t *testing.T) {
	t.Parallel()
	i := newImporter(t)
	const users = 3000
	var text strings.Builder
	text.WriteString("user_id,score\n")
	var want []string
	for n := range users {
		fmt.Fprintf(&text, "u%d,7\n", n)
		want = append(want, fmt.Sprintf("u%d 7", n))
	}
	file := filepath.Join(t.TempDir(), "scores.csv")
	if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, interrupt := context.WithCancel(t.Context())
	go func() {
		defer interrupt()
		for ctx.Err() == nil {
			sent := 0
			for _, r := range i.server.Seen() {
				if strings.HasSuffix(r.Path, "/records") {
					sent++
				}
			}
			if sent >= 3 {
				return
			}
			time.Sleep(time.Millisecond)
		}
	}()
	if code, _, errs := i.run(ctx, "csv", file, "--board", "global"); code == exitOK {
		t.Fatalf("the import was not interrupted: %s", errs)
	}
	interrupt()
	code, boards, errs := i.run(t.Context(), "csv", file, "--board", "global")
	b := boards["global"]
	if code != exitOK || b.Users != users || b.Written == 0 || b.Written == users || b.Written+b.Unchanged != users ||
		b.Differences+b.Misplaced != 0 {
		t.Fatalf("exit code %d, %+v, %s", code, boards, errs)
	}
	if got := i.standings("global"); !slices.Equal(got, want) {
		t.Errorf("got %d standings that begin with %q", len(got), got[:3])
	}
	statement, err := i.client.Statement(t.Context(), "u0", client.StatementQuery{})
	if err != nil || len(statement.Entries) != 1 {
		t.Errorf("the first user's events: got %+v, %v, want one", statement, err)
	}
}
