package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/scoreboard/scoreboard/internal/test/pagecommand"
	settings "github.com/scoreboard/scoreboard/server/config"
)

// Every sbctl command in the runbook exists, with its flags and as many arguments.
func TestRunbookCommandsExist(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob("../../docs/runbook/*.md")
	if err != nil || len(pages) < 50 {
		t.Fatalf("got %d pages, %v", len(pages), err)
	}
	checked := 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range pagecommand.In(string(text), "sbctl") {
			checked++
			if problem := pagecommand.Problem(newRootCmd(newProgram(&process{})), line); problem != "" {
				t.Errorf("%s: %s: %s", filepath.Base(page), line, problem)
			}
			if !setsKnown(line) {
				t.Errorf("%s: %s: no such setting", filepath.Base(page), line)
			}
		}
	}
	if checked < 100 {
		t.Errorf("only %d commands were found", checked)
	}
}

// setsKnown reports whether the settings that a command sets exist.
func setsKnown(line string) bool {
	known := settings.Defaults()
	for _, m := range regexp.MustCompile(`[ a-z]([a-z]+\.[a-z_]+) `).FindAllStringSubmatch(line, -1) {
		if !slices.ContainsFunc(known, func(v settings.Value) bool { return v.Name == m[1] }) && !slices.Contains(
			[]string{"key.revoke"}, m[1]) {
			return false
		}
	}
	return true
}

func TestCommandsOfWrongPagesAreFound(t *testing.T) {
	t.Parallel()
	for line, wrong := range map[string]bool{
		"sbctl doctor": false, "sbctl doctr": true, "sbctl doctor --fix": true, "sbctl key rotate": true,
		"sbctl key rotate k --overlap": true, "sbctl key revolve k": true, `sbctl user ban u --reason "a b"`: false,
		"sbctl settings set transport --reset": false, "sbctl outbox status --watch": false,
	} {
		if got := pagecommand.Problem(newRootCmd(newProgram(&process{})), line) != ""; got != wrong {
			t.Errorf("%s: got wrong %t, want %t", line, got, wrong)
		}
	}
}
