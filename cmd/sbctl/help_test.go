package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// every runs f for each command of the tree.
func forEachCommand(cmd *cobra.Command, f func(*cobra.Command)) {
	f(cmd)
	for _, sub := range cmd.Commands() {
		forEachCommand(sub, f)
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
	forEachCommand(root, func(cmd *cobra.Command) {
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

// The manual: a page for each command, written by -update as the reference is.
const manual = "../../docs/man"

func TestTheManualIsTheHelp(t *testing.T) {
	t.Parallel()
	root := newRootCmd(&program{})
	root.InitDefaultHelpCmd()
	pages := map[string]string{}
	forEachCommand(root, func(cmd *cobra.Command) {
		cmd.DisableAutoGenTag = true // it holds the day
		var page bytes.Buffer
		header := doc.GenManHeader{Section: "1", Source: "scoreboard", Manual: "scoreboard", Date: &time.Time{}}
		if err := doc.GenMan(cmd, &header, &page); err != nil {
			t.Fatal(err)
		}
		name := strings.ReplaceAll(cmd.CommandPath(), " ", "-") + ".1"
		pages[name] = strings.Replace(page.String(), "Jan 0001", "", 1)
	})
	if *update {
		if err := os.RemoveAll(manual); err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(manual, 0o755); err != nil {
			t.Fatal(err)
		}
		for name, page := range pages {
			if err := os.WriteFile(filepath.Join(manual, name), []byte(page), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		return
	}
	there, err := os.ReadDir(manual)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range there {
		if pages[file.Name()] == "" {
			t.Errorf("%s is of no command (-run Help -update rewrites the manual)", file.Name())
		}
	}
	for name, want := range pages {
		if got, err := os.ReadFile(filepath.Join(manual, name)); err != nil || string(got) != want {
			t.Errorf("%s is not of today's command (-run Help -update rewrites it): %v", name, err)
		}
	}
}

// An example that the program does not take is worse than none.
func TestExamplesParse(t *testing.T) {
	t.Parallel()
	forEachCommand(newRootCmd(&program{}), func(about *cobra.Command) {
		for line := range strings.Lines(about.Example) {
			_, line, found := strings.Cut(strings.TrimSpace(line), "sbctl ")
			if !found {
				continue
			}
			cmd, rest, err := newRootCmd(&program{}).Find(shellWords(line))
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

// shellWords are the words that a shell would hand to the program: what is
// quoted is one, and it ends where another command or a file begins.
func shellWords(line string) (words []string) {
	var word strings.Builder
	quote, open := rune(0), false // a word has begun
	end := func() {
		if open {
			words = append(words, word.String())
		}
		word.Reset()
		open = false
	}
	for _, r := range line {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote == 0 && (r == '"' || r == '\''):
			quote, open = r, true
		case quote == 0 && strings.ContainsRune("|>)", r):
			end()
			return words
		case quote == 0 && r == ' ':
			end()
		default:
			word.WriteRune(r)
			open = true
		}
	}
	end()
	return words
}
