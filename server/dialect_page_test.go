package server_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The commands of docs/dialects.md print what the page shows.
func TestDialectsPage(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/dialects.md")
	if err != nil {
		t.Fatal(err)
	}
	var commands, want strings.Builder
	var block *strings.Builder
	for line := range strings.Lines(string(page)) {
		switch {
		case line == "```sh\n":
			block = &commands
		case line == "```json\n":
			block = &want
			commands.WriteString("echo\n")
		case strings.HasPrefix(line, "```"):
			block = nil
		case block != nil:
			if block == &commands && strings.HasPrefix(line, "curl ") {
				line = "echo; " + line
			}
			block.WriteString(line)
		}
	}
	h, n := dialectNode(t)
	const address = "http://127.0.0.1:8080"
	if !strings.Contains(commands.String(), address) || want.Len() == 0 {
		t.Fatalf("the page has no commands or no responses:\n%s", &commands)
	}
	bin := t.TempDir()
	sbctl := "#!/bin/sh\necho " + h.token("alice", "", time.Hour) + "\n"
	if err := os.WriteFile(filepath.Join(bin, "sbctl"), []byte(sbctl), 0o755); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), awaitTimeout)
	defer cancel()
	script := strings.ReplaceAll(commands.String(), address, n.URL)
	cmd := exec.CommandContext(ctx, "bash", "-eu", "-o", "pipefail", "-c", script)
	cmd.Env = []string{"PATH=" + bin + ":" + os.Getenv("PATH")}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var got strings.Builder
	for line := range strings.Lines(string(out)) {
		if strings.TrimSpace(line) != "" {
			got.WriteString(stable(line))
		}
	}
	if got.String() != want.String() {
		t.Errorf("got\n%s\nwant\n%s", &got, &want)
	}
}
