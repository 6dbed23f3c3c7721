package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/scoreboard/scoreboard/internal/test/pagecommand"
)

// Every scoreboardd command in the runbook exists, with its flags.
func TestRunbookDaemonCommandsExist(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob("../../docs/runbook/*.md")
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range pagecommand.In(string(text), "scoreboardd") {
			checked++
			if problem := pagecommand.Problem(newRoot(discard(t)), line); problem != "" {
				t.Errorf("%s: %s: %s", filepath.Base(page), line, problem)
			}
		}
	}
	if checked < 2 {
		t.Errorf("only %d commands were found", checked)
	}
}
