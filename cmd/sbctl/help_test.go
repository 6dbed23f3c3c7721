package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// forEachCommand runs f for cmd and all commands below it.
func forEachCommand(cmd *cobra.Command, f func(*cobra.Command)) {
	f(cmd)
	for _, sub := range cmd.Commands() {
		forEachCommand(sub, f)
	}
}

// reference is docs/cli.md: written by hand, but for the table of contents between its
// marks, and the help of every command below the last mark.
const (
	reference   = "../../docs/cli.md"
	contents    = "<!-- The table of contents is written by go test ./cmd/sbctl -run Help -update. -->\n"
	contentsEnd = "<!-- End of the table of contents. -->\n"
	mark        = "<!-- Below: the help of every command, written by go test ./cmd/sbctl -run Help -update. -->\n"
)

func TestHelpOfEveryCommand(t *testing.T) {
	t.Parallel()
	var all, list bytes.Buffer
	root := newRootCmd(newProgram(&process{}))
	root.InitDefaultHelpCmd()
	all.WriteString("\n## Commands\n\nThe flags of `sbctl` itself are global: every command has them, too.\n")
	list.WriteString("- [Commands](#commands)")
	separator := ""
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
			t.Errorf("%s has %d examples, want 2", path, n)
		}
		if cmd.HasParent() {
			all.WriteString("\n### " + path + "\n")
			noun := strings.Fields(path)[1]
			text := strings.TrimPrefix(path, "sbctl "+noun+" ")
			if cmd.Parent() == root {
				text, separator = noun, "\n  - "
			}
			list.WriteString(separator + "[" + text + "](#" + strings.ReplaceAll(path, " ", "-") + ")")
			if separator = ", "; cmd.Parent() == root {
				separator = ": "
			}
		}
		all.WriteString("\n```\n" + withoutGlobalFlags(out.String()) + "```\n")
	})
	was, err := os.ReadFile(reference)
	if err != nil {
		t.Fatal(err)
	}
	byHand, _, found := strings.Cut(string(was), mark)
	begin, rest, found1 := strings.Cut(byHand, contents)
	_, end, found2 := strings.Cut(rest, contentsEnd)
	if !found || !found1 || !found2 {
		t.Fatalf("%s lacks a mark", reference)
	}
	var sections bytes.Buffer // those written by hand
	for line := range strings.Lines(end) {
		if title, ok := strings.CutPrefix(strings.TrimSpace(line), "## "); ok {
			sections.WriteString("- [" + title + "](#" + strings.ReplaceAll(strings.ToLower(title), " ", "-") + ")\n")
		}
	}
	table := "\n" + sections.String() + list.String() + "\n- [JSON](#json)\n\n"
	want := begin + contents + table + contentsEnd + end + mark + all.String() + jsonShapes(t)
	if *update {
		if err := os.WriteFile(reference, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if want != string(was) {
		t.Errorf("%s is outdated; run the test with -update", reference)
	}
	if n := strings.Count(want, "--profile string"); n != 1 {
		t.Errorf("%s has the global flags %d times, want 1", reference, n)
	}
}

// withoutGlobalFlags leaves out the flags that every command has.
func withoutGlobalFlags(help string) string {
	before, after, found := strings.Cut(help, "\nGlobal Flags:\n")
	if !found {
		return help
	}
	if _, rest, more := strings.Cut(after, "\n\n"); more {
		return before + "\n" + rest
	}
	return before
}

// manual is the folder, ignored by git, for the man pages that -update writes.
const manual = "../../out/man"

// Every command has a man page that names it and its flags.
func TestHelpAsManual(t *testing.T) {
	t.Parallel()
	root := newRootCmd(newProgram(&process{}))
	root.InitDefaultHelpCmd()
	if *update {
		if err := errors.Join(os.RemoveAll(manual), os.MkdirAll(manual, 0o755)); err != nil {
			t.Fatal(err)
		}
	}
	var commands []*cobra.Command // first, because GenMan adds help commands to the tree
	forEachCommand(root, func(cmd *cobra.Command) { commands = append(commands, cmd) })
	for _, cmd := range commands {
		cmd.DisableAutoGenTag = true // it contains the date
		var page bytes.Buffer
		header := doc.GenManHeader{Section: "1", Source: "scoreboard", Manual: "scoreboard", Date: &time.Time{}}
		if err := doc.GenMan(cmd, &header, &page); err != nil {
			t.Fatal(err)
		}
		name := strings.ReplaceAll(cmd.CommandPath(), " ", "-")
		text := strings.Replace(page.String(), "Jan 0001", "", 1)
		for _, want := range []string{name, cmd.Short, ".SH EXAMPLE"} {
			if !strings.Contains(strings.ReplaceAll(text, `\-`, "-"), want) {
				t.Errorf("the page of %s lacks %q", name, want)
			}
		}
		if *update {
			if err := os.WriteFile(filepath.Join(manual, name+".1"), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestExamplesParse(t *testing.T) {
	t.Parallel()
	forEachCommand(newRootCmd(newProgram(&process{})), func(documented *cobra.Command) {
		for line := range strings.Lines(documented.Example) {
			_, line, found := strings.Cut(strings.TrimSpace(line), "sbctl ")
			if !found {
				continue
			}
			cmd, rest, err := newRootCmd(newProgram(&process{})).Find(shellWords(line))
			if err != nil {
				t.Errorf("%s: example %q: %v", documented.CommandPath(), line, err)
				continue
			}
			if err := cmd.ParseFlags(rest); err != nil {
				t.Errorf("%s: example %q: %v", documented.CommandPath(), line, err)
			}
			if err := cmd.ValidateArgs(cmd.Flags().Args()); err != nil {
				t.Errorf("%s: example %q: %v", documented.CommandPath(), line, err)
			}
		}
	})
}

// shellWords splits a command line like a shell, up to a pipe or a redirection.
func shellWords(line string) (words []string) {
	var word strings.Builder
	quote, open := rune(0), false // inside a word
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
