package main

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/scoreboard/scoreboard/client/wire"
)

// The next step after a delta out of range names the place where its limit is set.
func TestNextStepNamesTheLimit(t *testing.T) {
	t.Parallel()
	board := &cobra.Command{Use: "submit"}
	board.Flags().String("board", "", "")
	parent := &cobra.Command{Use: "score"}
	parent.AddCommand(board)
	if err := board.Flags().Set("board", "arena"); err != nil {
		t.Fatal(err)
	}
	for reason, want := range map[wire.Reason]string{
		wire.ReasonActionRule:   "ingest.actions",
		wire.ReasonActionBounds: "another action",
		wire.ReasonKeyScope:     "sbctl key list",
		wire.ReasonDeltaLimits:  "ingest.*_delta",
		wire.ReasonBoardBounds:  "sbctl board show arena",
		"":                      "sbctl board show arena",
		"unknown":               "sbctl board show arena",
	} {
		if got := rangeStep(reason, board); !strings.Contains(got, want) {
			t.Errorf("%q: got %q, want %s", reason, got, want)
		}
	}
}
