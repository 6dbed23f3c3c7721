package main

import (
	"context"
	"errors"
	"testing"

	"github.com/scoreboard/scoreboard/loadgen/report"
)

// What a weak machine leaves undecided ends with exit code 3, as what was missed does: it is no pass.
func TestVerdictsEndTheRun(t *testing.T) {
	t.Parallel()
	for verdict, want := range map[string]error{
		report.Passed: nil, report.Scaled: nil, report.Failed: errCheckFailed, report.Undecidable: errCheckFailed,
	} {
		got := verdictError(&report.Report{Verdict: verdict})
		if !errors.Is(got, want) || (got == nil) != (want == nil) {
			t.Errorf("%s: got %v, want %v", verdict, got, want)
		}
		if got := verdictError(&report.Report{Verdict: verdict, Cut: true}); !errors.Is(got, context.Canceled) {
			t.Errorf("%s, ended early: got %v", verdict, got)
		}
	}
	if exitCheckFailed != 3 {
		t.Errorf("a failed check is exit code %d, want 3", exitCheckFailed)
	}
}
