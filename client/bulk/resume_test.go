package bulk_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/client/bulk"
)

func TestACrashLeavesAHalfLine(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "results")
	l := newLedger()
	if _, _, err := submit(t, t.Context(), l, lines(20), path); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	last := bytes.LastIndexByte(whole[:len(whole)-1], '\n') + 1
	half := append(whole[:last:last], `{"line":20,"status":"refused","message":"`+strings.Repeat("x", 1000)...)
	if err := os.WriteFile(path, half, 0o644); err != nil {
		t.Fatal(err)
	}
	tally, _, err := submit(t, t.Context(), l, lines(20), path)
	if err != nil || tally.Skipped != 19 || tally.Replayed != 1 || len(l.events) != 20 {
		t.Errorf("got %+v, %v, %d events, want the lost line replayed and no event more", tally, err, len(l.events))
	}
	if tally, _, err = submit(t, t.Context(), l, lines(20), path); err != nil || tally.Skipped != 20 {
		t.Errorf("once more: got %+v, %v, want the file whole again", tally, err)
	}
	if mended, _ := os.ReadFile(path); bytes.Contains(mended, []byte("xxx")) ||
		bytes.Count(mended, []byte("\n")) != 21 {
		t.Errorf("the half line is still in the file:\n%s", mended)
	}
}

// Lines that were sent may not move or change, or they would count again under
// another id, or never; one that was refused may be put right.
func TestAnEditedSourceIsRefused(t *testing.T) {
	t.Parallel()
	const first, bad, last = "{\"user_id\":\"a\",\"delta\":1}\n", "{\"user_id\":\"b\",\"delta\":\"x\"}\n", "{\"user_id\":\"c\",\"delta\":3,\"event_id\":\"e\"}\n"
	const more = "{\"user_id\":\"d\",\"delta\":4}\n"
	for name, tc := range map[string]struct {
		text string
		line string // that is told, where the source is refused
		sum  int64  // of all scores then
	}{
		"the same":          {first + bad + last, "", 4},
		"a line before":     {first + more + bad + last, "line 3", 4}, // in the place of the one that was refused
		"a line in between": {first + bad + more + last, "line 3", 4},
		"a line less":       {first + last, "line 3", 4},
		"another delta":     {first + bad + strings.Replace(last, "3", "5", 1), "line 3", 4},
		"another user":      {strings.Replace(first, "a", "z", 1) + bad + last, "another source", 4},
		"put right":         {first + strings.Replace(bad, `"x"`, "2", 1) + last, "", 6},
		"more at the end":   {first + bad + last + more, "", 8},
	} {
		path := filepath.Join(t.TempDir(), "results")
		l := newLedger()
		if tally, _, err := submit(t, t.Context(), l, first+bad+last, path); err != nil || tally.Done != 2 ||
			tally.Refused != 1 {
			t.Fatalf("%+v, %v", tally, err)
		}
		_, _, err := submit(t, t.Context(), l, tc.text, path)
		if (err != nil) != (tc.line != "") || err != nil &&
			(!errors.Is(err, bulk.ErrSourceChanged) || !strings.Contains(err.Error(), tc.line)) {
			t.Errorf("%s: got %v, want it to tell of %q", name, err, tc.line)
		}
		var sum int64
		for _, score := range l.scores {
			sum += score
		}
		if sum != tc.sum {
			t.Errorf("%s: the scores add up to %d, want %d", name, sum, tc.sum)
		}
	}
	// An unsent line may have been counted, too.
	path := filepath.Join(t.TempDir(), "results")
	l := newLedger()
	l.after = func(client.Increment) error { return away() }
	if tally, _, _ := submit(t, t.Context(), l, first+last, path); tally.Unsent != 2 || len(l.events) != 2 {
		t.Fatalf("%+v, %d events", tally, len(l.events))
	}
	l.after = nil
	if _, _, err := submit(t, t.Context(), l, first+more+last, path); !errors.Is(err, bulk.ErrSourceChanged) {
		t.Errorf("moved after it was unsent: got %v", err)
	}
	// A pipe is read once: each line is looked at when its turn comes.
	pipe := bulk.Job{Source: io.MultiReader(strings.NewReader(first + more + last)), Results: path, Workers: 1}
	if _, err := pipe.Run(t.Context(), l); !errors.Is(err, bulk.ErrSourceChanged) || len(l.events) != 2 {
		t.Errorf("moved in a pipe: got %v, %d events", err, len(l.events))
	}
}

func TestAResultFileBelongsToItsSource(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "results")
	l := newLedger()
	if _, _, err := submit(t, t.Context(), l, lines(3), path); err != nil {
		t.Fatal(err)
	}
	if _, _, err := submit(t, t.Context(), l, "{\"user_id\":\"x\",\"delta\":1}\n", path); err == nil ||
		len(l.events) != 3 {
		t.Errorf("another source: got %v and %d events, want it refused", err, len(l.events))
	}
	if _, _, err := submit(t, t.Context(), l, lines(5), path); err != nil || len(l.events) != 5 {
		t.Errorf("a source that grew: got %v and %d events, want the two new ones", err, len(l.events))
	}
	if err := os.WriteFile(path, []byte("my diary\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, _, err := submit(t, t.Context(), l, lines(3), path); err == nil {
		t.Error("a file that is none: got no error")
	}
	if diary, _ := os.ReadFile(path); string(diary) != "my diary\n" {
		t.Errorf("the file was written to: %q", diary)
	}
}
