package main

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Whose bounds they are is told by the server's words alone.
func TestTheNextStepIsAboutTheBoundsThatWereMeant(t *testing.T) {
	t.Parallel()
	in := &scoreboard.Increment{Action: "rare", Delta: 600}
	for want, err := range map[string]error{
		"ingest.actions":    (&scoreboard.Rule{MinDelta: 1, MaxDelta: 5}).Check(in, [16]byte{}, time.Time{}, nil),
		"key list":          (&scoreboard.KeyScope{MaxDelta: 5}).Check(in),
		"ingest.max_delta": (&scoreboard.IngestPolicy{MinDelta: 1, MaxDelta: 5}).CheckDelta(600),
	} {
		var e *scoreboard.Error
		if !errors.As(err, &e) || e.Code != scoreboard.CodeDeltaOutOfRange {
			t.Fatalf("%s: got %v", want, err)
		}
		if got := otherBounds(e.Message); !strings.Contains(got, want) {
			t.Errorf("after %q: got %q, want %s", e.Message, got, want)
		}
	}
	err := (&scoreboard.Board{MinDelta: 1, MaxDelta: 5}).CheckDelta(600)
	if !strings.Contains(err.Error(), "bounds of the board") {
		t.Errorf("the board's own bounds: got %q", err)
	}
}
