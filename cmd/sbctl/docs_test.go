package main

import (
	"context"
	"io"
	"io/fs"
	"iter"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/sync/errgroup"
)

// documented finds commands of sbctl in code of the docs: up to the end of the code, or to what
// ends a command in a shell.
var documented = regexp.MustCompile("\\bsbctl ([a-z-][^`\n|;&>)]*)")

// notChecked are pages whose commands need not exist: the change log and the benchmark log are
// history, and cli.md is made of the program's own texts.
var notChecked = map[string]bool{"CHANGELOG.md": true, "benchmarks.md": true, "cli.md": true}

// Every command that a page names exists, and has the flags that the page gives it. Decisions are
// history.
func TestDocsNameCommandsThatExist(t *testing.T) {
	t.Parallel()
	found := 0
	for path, code := range codeOfPages(t) {
		for _, command := range documented.FindAllStringSubmatch(code.text, -1) {
			found++
			if problem := unknownIn(command[1]); problem != "" {
				t.Errorf("%s: sbctl %s: %s", path, strings.TrimSpace(command[1]), problem)
			}
		}
	}
	if found < 300 {
		t.Errorf("only %d commands were found", found)
	}
}

// Every command of a page runs: none is a usage error. They run in process, against a server that
// knows nothing, so that what they do is left to the tests of each command: the browser is /bin/true, no
// database is reached, and placeholders, such as ID, have values. Not run are, within a sentence, the names of
// commands without arguments, and of flags without values, which are mentions; and those that leave out a part (…).
func TestCommandsOfPagesRun(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, `{"error_code":"not_found","message":"nothing is here"}`)
	}))
	t.Cleanup(server.Close)
	lines := make(map[string]string) // page of a command line
	for page, code := range codeOfPages(t) {
		for _, command := range documented.FindAllStringSubmatch(code.text, -1) {
			if line := strings.TrimSpace(command[1]); code.block || !isMention(wordsOf(line)) {
				lines[line] = page
			}
		}
	}
	t.Chdir(t.TempDir())                  // for commands that write files
	rules := []byte(`{"max_delta": 500}`) // of docs/what-if.md
	if err := os.WriteFile("rules.json", rules, 0o600); err != nil {
		t.Fatal(err)
	}
	var checks errgroup.Group
	checks.SetLimit(32)
	ran, special := 0, 0
	for line, page := range lines {
		if strings.Contains(line, "…") {
			continue
		}
		args := wordsOf(filledIn(line))
		if ran++; args[0] == "migrate" || args[0] == "open" {
			special++
		}
		checks.Go(func() error {
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			defer cancel()
			var problem strings.Builder
			environ := []string{
				"SBCTL_SERVER=" + server.URL, "SBCTL_TOKEN=t", "SBCTL_KEY_ID=k", "SBCTL_KEY_SECRET=s",
				"BROWSER=/bin/true", "SCOREBOARD_POSTGRES_URL=" + noDatabase,
			}
			code := run(ctx, args, strings.NewReader(""), io.Discard, &problem, environ)
			if code == exitUsage && !notWrong.MatchString(problem.String()) {
				t.Errorf("%s: sbctl %s: %s", page, line, problem.String())
			}
			return nil
		})
	}
	_ = checks.Wait()
	if ran < 170 || special < 3 {
		t.Errorf("only %d commands were run, %d of them of open and migrate", ran, special)
	}
}

// noDatabase is the URL of a database that cannot be reached.
const noDatabase = "postgres://scoreboard@127.0.0.1:1/scoreboard"

// filledIn is a command line with values for what readers replace: no databases, but those of noDatabase.
func filledIn(line string) string {
	line = regexp.MustCompile(`postgres://\S+`).ReplaceAllString(line, noDatabase)
	line = strings.ReplaceAll(line, "--dialect NAME", "--dialect plain")
	return placeholder.ReplaceAllStringFunc(line, func(found string) string {
		name := strings.TrimLeft(found, " =/:")
		value, ok := map[string]string{
			"ID": "17", "DELIVERY": "17", "TIME": "2026-11-21T12:00:00Z", "FILE": "rules.json", "PATH": "out",
			"VALUE": "20", "SHELL": "bash",
		}[name]
		if !ok {
			value = strings.ToLower(name)
		}
		return strings.TrimSuffix(found, name) + value
	})
}

// placeholder is a word that readers replace. notWrong are usage errors of commands that are right: they
// ask, or the line is a mention of a flag.
var (
	placeholder = regexp.MustCompile(`(^|[ =/:])([A-Z]{2,}|K)\b`)
	notWrong    = regexp.MustCompile(`pass --yes|flag needs an argument`)
)

// codeOfPages yields the code of all pages whose commands must exist, with the path of each.
func codeOfPages(t *testing.T) iter.Seq2[string, code] {
	t.Helper()
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	return func(yield func(page string, c code) bool) {
		err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			name := entry.Name()
			switch {
			case err != nil:
				return err
			case entry.IsDir() && (name == "node_modules" || name == "decisions" || len(name) > 2 && name[0] == '.'):
				return filepath.SkipDir
			case entry.IsDir() || filepath.Ext(name) != ".md" || notChecked[name]:
				return nil
			}
			text, err := os.ReadFile(path)
			for _, c := range codeOf(string(text)) {
				if !yield(path, c) {
					return filepath.SkipAll
				}
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// wordsOf splits a command line as a shell does.
func wordsOf(line string) (words []string) {
	for _, m := range regexp.MustCompile(`"([^"]*)"|'([^']*)'|(\S+)`).FindAllStringSubmatch(line, -1) {
		words = append(words, m[1]+m[2]+m[3])
	}
	return words
}

// isMention reports whether words name a command, or a group of them, and nothing else.
func isMention(words []string) bool {
	cmd, args, err := newRootCmd(newProgram(&process{})).Find(words)
	return err == nil && (len(args) == 0 || cmd.HasSubCommands())
}

// So do the commands of the examples in the help.
func TestExamplesNameCommandsThatExist(t *testing.T) {
	t.Parallel()
	found := 0
	forEachCommand(newRootCmd(newProgram(&process{})), func(cmd *cobra.Command) {
		for line := range strings.Lines(cmd.Example) {
			line, _, _ = strings.Cut(line, " #")
			for _, command := range documented.FindAllStringSubmatch(line, -1) {
				found++
				if problem := unknownIn(command[1]); problem != "" {
					t.Errorf("help of %s: sbctl %s: %s", cmd.CommandPath(), strings.TrimSpace(command[1]), problem)
				}
			}
		}
	})
	if found < 50 {
		t.Errorf("only %d commands were found", found)
	}
}

// code is a line of a block of code, or the code within a line of text.
type code struct {
	text  string
	block bool
}

// codeOf returns the code of a page.
func codeOf(text string) (all []code) {
	inline := regexp.MustCompile("`([^`\n]+)`")
	block := false
	for line := range strings.Lines(text) {
		switch {
		case strings.HasPrefix(strings.TrimSpace(line), "```"):
			block = !block
		case block:
			line, _, _ = strings.Cut(line, " #")
			all = append(all, code{line, true})
		default:
			for _, found := range inline.FindAllStringSubmatch(line, -1) {
				all = append(all, code{found[1], false})
			}
		}
	}
	return all
}

// unknownIn says what of a command line does not exist: "" if all of it does.
func unknownIn(line string) string {
	cmd := newRootCmd(newProgram(&process{}))
	words := strings.Fields(line)
	for len(words) > 0 && cmd.HasSubCommands() && !strings.HasPrefix(words[0], "-") {
		if words[0] != strings.ToLower(words[0]) || strings.HasPrefix(words[0], "…") {
			return "" // a placeholder
		}
		next := subCommand(cmd, words[0])
		if next == nil {
			if words[0] == "help" || words[0] == "completion" {
				return ""
			}
			return "no such command " + words[0]
		}
		cmd, words = next, words[1:]
	}
	for _, word := range words {
		name, isFlag := strings.CutPrefix(word, "--")
		if name, _, _ = strings.Cut(strings.Trim(name, "[],.'\""), "="); !isFlag || name == "" || name == "help" {
			continue
		}
		if lookUpFlag(cmd, name) == nil {
			return "no such flag --" + name
		}
	}
	return ""
}

func subCommand(cmd *cobra.Command, name string) *cobra.Command {
	for _, sub := range cmd.Commands() {
		if sub.Name() == name || sub.HasAlias(name) {
			return sub
		}
	}
	return nil
}

// lookUpFlag is a flag of a command, its own or one of those above it.
func lookUpFlag(cmd *cobra.Command, name string) *pflag.Flag {
	if f := cmd.Flags().Lookup(name); f != nil {
		return f
	}
	return cmd.InheritedFlags().Lookup(name)
}
