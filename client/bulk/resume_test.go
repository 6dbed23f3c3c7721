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

func TestPartialLineAfterCrash(t *testing.T) {
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
	half := append(whole[:last:last], `{"line":20,"status":"rejected","message":"`+strings.Repeat("x", 1000)...)
	if err := os.WriteFile(path, half, 0o644); err != nil {
		t.Fatal(err)
	}
	tally, _, err := submit(t, t.Context(), l, lines(20), path)
	if err != nil || tally.Skipped != 19 || tally.Replayed != 1 || len(l.events) != 20 {
		t.Errorf("got %+v, %v, %d events, want one line replayed and no new event", tally, err, len(l.events))
	}
	if tally, _, err = submit(t, t.Context(), l, lines(20), path); err != nil || tally.Skipped != 20 {
		t.Errorf("run again: got %+v, %v, want all lines skipped", tally, err)
	}
	if repaired, _ := os.ReadFile(path); bytes.Contains(repaired, []byte("xxx")) ||
		bytes.Count(repaired, []byte("\n")) != 21 {
		t.Errorf("the partial line is still in the file:\n%s", repaired)
	}
}

// Lines that were sent must not move or change, or they would count again under
// another id, or not at all. Rejected lines may be corrected.
func TestEditedSourceIsRejected(t *testing.T) {
	t.Parallel()
	const (
		first = "{\"user_id\":\"a\",\"delta\":1}\n"
		bad   = "{\"user_id\":\"b\",\"delta\":\"x\"}\n"
		last  = "{\"user_id\":\"c\",\"delta\":3,\"event_id\":\"e\"}\n"
		more  = "{\"user_id\":\"d\",\"delta\":4}\n"
	)
	for name, tc := range map[string]struct {
		text string
		want string // text of the error; empty if the source is accepted
		sum  int64  // of all scores after the run
	}{
		"unchanged":                 {first + bad + last, "", 4},
		"line inserted at rejected": {first + more + bad + last, "line 3", 4},
		"line inserted":             {first + bad + more + last, "line 3", 4},
		"line deleted":              {first + last, "line 3", 4},
		"delta changed":             {first + bad + strings.Replace(last, "3", "5", 1), "line 3", 4},
		"period added":              {first + bad + strings.Replace(last, "}", `,"if_period":"w:1"}`, 1), "line 3", 4},
		"subscore added":            {first + bad + strings.Replace(last, "}", `,"subscore":0}`, 1), "line 3", 4},
		"user changed":              {strings.Replace(first, "a", "z", 1) + bad + last, "another source", 4},
		"rejected line corrected":   {first + strings.Replace(bad, `"x"`, "2", 1) + last, "", 6},
		"line appended":             {first + bad + last + more, "", 8},
	} {
		path := filepath.Join(t.TempDir(), "results")
		l := newLedger()
		if tally, _, err := submit(t, t.Context(), l, first+bad+last, path); err != nil || tally.Done != 2 ||
			tally.Rejected != 1 {
			t.Fatalf("%+v, %v", tally, err)
		}
		_, _, err := submit(t, t.Context(), l, tc.text, path)
		if (err != nil) != (tc.want != "") || err != nil &&
			(!errors.Is(err, bulk.ErrSourceChanged) || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%s: got %v, want an error with %q", name, err, tc.want)
		}
		var sum int64
		for _, score := range l.scores {
			sum += score
		}
		if sum != tc.sum {
			t.Errorf("%s: the scores add up to %d, want %d", name, sum, tc.sum)
		}
	}
	// An unsent line may have been counted.
	path := filepath.Join(t.TempDir(), "results")
	l := newLedger()
	l.after = func(client.Increment) error { return away() }
	if tally, _, _ := submit(t, t.Context(), l, first+last, path); tally.Unsent != 2 || len(l.events) != 2 {
		t.Fatalf("%+v, %d events", tally, len(l.events))
	}
	l.after = nil
	if _, _, err := submit(t, t.Context(), l, first+more+last, path); !errors.Is(err, bulk.ErrSourceChanged) {
		t.Errorf("unsent line moved: got %v, want ErrSourceChanged", err)
	}
	// A pipe cannot be read twice, so each line is checked just before it is sent.
	pipe := bulk.Job{Source: io.MultiReader(strings.NewReader(first + more + last)), Results: path, Workers: 1}
	if _, err := pipe.Run(t.Context(), l); !errors.Is(err, bulk.ErrSourceChanged) || len(l.events) != 2 {
		t.Errorf("line moved in a pipe: got %v, %d events", err, len(l.events))
	}
}

func TestResultFileBelongsToItsSource(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "results")
	l := newLedger()
	if _, _, err := submit(t, t.Context(), l, lines(3), path); err != nil {
		t.Fatal(err)
	}
	if _, _, err := submit(t, t.Context(), l, "{\"user_id\":\"x\",\"delta\":1}\n", path); err == nil ||
		len(l.events) != 3 {
		t.Errorf("another source: got %v and %d events, want it rejected", err, len(l.events))
	}
	if _, _, err := submit(t, t.Context(), l, lines(5), path); err != nil || len(l.events) != 5 {
		t.Errorf("appended lines: got %v and %d events, want 5", err, len(l.events))
	}
	if err := os.WriteFile(path, []byte("my diary\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, _, err := submit(t, t.Context(), l, lines(3), path); err == nil {
		t.Error("not a result file: got no error")
	}
	if diary, _ := os.ReadFile(path); string(diary) != "my diary\n" {
		t.Errorf("the file was changed: %q", diary)
	}
}
