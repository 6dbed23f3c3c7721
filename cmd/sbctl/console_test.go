package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/scoreboard/scoreboard/internal/test/instance"
)

// The commands that the console shows are valid.
func TestCommandsOfTheConsole(t *testing.T) {
	t.Parallel()
	listed, err := os.ReadFile("../../server/http/console/testdata/changes.txt")
	if err != nil {
		t.Fatal(err)
	}
	env := []string{
		"SBCTL_SERVER=http://127.0.0.1:1", "SBCTL_TOKEN=" + instance.Token("root", "score:admin"),
		"HOME=" + t.TempDir(),
	}
	commands := 0
	for line := range strings.Lines(string(listed)) {
		name, command, _ := strings.Cut(strings.TrimSpace(line), "\t")
		var words []string
		for i, part := range strings.Split(command, "'") {
			if i%2 == 0 {
				words = append(words, strings.Fields(part)...)
			} else {
				words = append(words, part) // quoted, and a word of its own
			}
		}
		var stdout, stderr bytes.Buffer
		args := append([]string{"--curl", "--yes"}, words[1:]...)
		if words[1] == "import" { // it reads a file
			code := run(t.Context(), args[1:], strings.NewReader(""), &stdout, &stderr, env)
			if code != exitError || !strings.Contains(stderr.String(), "no such file") {
				t.Errorf("%s: %s: exit %d, %s%s", name, command, code, &stdout, &stderr)
			}
			continue
		}
		if code := run(t.Context(), args, strings.NewReader(""), &stdout, &stderr, env); code != exitOK ||
			!strings.Contains(stdout.String(), "curl") {
			t.Errorf("%s: %s: exit %d, %s%s", name, command, code, &stdout, &stderr)
		}
		commands++
	}
	if commands < 20 {
		t.Errorf("only %d commands were checked", commands)
	}
}
