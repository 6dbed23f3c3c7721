package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// every runs f for each command of the tree.
func every(cmd *cobra.Command, f func(*cobra.Command)) {
	f(cmd)
	for _, sub := range cmd.Commands() {
		every(sub, f)
	}
}

// reference is docs/cli.md: what stands by hand up to the mark, and below it
// the help of every command.
const (
	reference = "../../docs/cli.md"
	mark      = "<!-- Below: the help of every command, written by go test ./cmd/sbctl -run Help -update. -->\n"
)

func TestEveryHelp(t *testing.T) {
	t.Parallel()
	var all bytes.Buffer
	root := newRootCmd(&program{})
	root.InitDefaultHelpCmd()
	every(root, func(cmd *cobra.Command) {
		path := cmd.CommandPath()
		var out, errs bytes.Buffer
		args := append(strings.Fields(path)[1:], "--help")
		if code := run(t.Context(), args, nil, &out, &errs, nil); code != 0 || errs.Len() > 0 {
			t.Errorf("%s --help: exit code %d, stderr %q", path, code, errs.String())
		}
		for _, heading := range []string{"Usage:\n", "Examples:\n", "Flags:\n"} {
			if !strings.Contains(out.String(), heading) {
				t.Errorf("%s --help has no heading %q", path, heading)
			}
		}
		if n := strings.Count(cmd.Example, "sbctl "); n < 2 {
			t.Errorf("%s has %d examples, want two", path, n)
		}
		all.WriteString("\n## " + path + "\n\n```\n" + out.String() + "```\n")
	})
	was, err := os.ReadFile(reference)
	if err != nil {
		t.Fatal(err)
	}
	byHand, _, found := strings.Cut(string(was), mark)
	if !found {
		t.Fatalf("%s has lost its mark", reference)
	}
	want := byHand + mark + all.String()
	if *update {
		if err := os.WriteFile(reference, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if want != string(was) {
		t.Errorf("%s is not the help of today's commands (-update rewrites it)", reference)
	}
}

// An example that the program does not take is worse than none.
func TestExamplesParse(t *testing.T) {
	t.Parallel()
	every(newRootCmd(&program{}), func(about *cobra.Command) {
		for line := range strings.Lines(about.Example) {
			_, line, found := strings.Cut(strings.TrimSpace(line), "sbctl ")
			if !found {
				continue
			}
			line, _, _ = strings.Cut(line, " > ")
			line, _, _ = strings.Cut(line, ")") // of a command substitution
			words := strings.Fields(line)
			cmd, rest, err := newRootCmd(&program{}).Find(words)
			if err != nil {
				t.Errorf("%s: example %q: %v", about.CommandPath(), line, err)
				continue
			}
			if err := cmd.ParseFlags(rest); err != nil {
				t.Errorf("%s: example %q: %v", about.CommandPath(), line, err)
			}
			if err := cmd.ValidateArgs(cmd.Flags().Args()); err != nil {
				t.Errorf("%s: example %q: %v", about.CommandPath(), line, err)
			}
		}
	})
}

func TestSuggest(t *testing.T) {
	t.Parallel()
	words := []string{"submit", "get", "top", "watch", "event"}
	for typo, want := range map[string]string{
		"submti": "submit", "wach": "watch", "tpo": "top", "evnet": "event", "qwertz": "", "x": "", "subm": "submit",
	} {
		got := suggest(typo, words, "")
		if want != "" {
			want = "; did you mean " + want + "?"
		}
		if got != want {
			t.Errorf("suggest(%q): got %q, want %q", typo, got, want)
		}
	}
}
