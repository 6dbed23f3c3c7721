package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
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
	root, found := filepath.Join("..", ".."), 0
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
		for _, code := range codeOf(string(text)) {
			for _, command := range documented.FindAllStringSubmatch(code, -1) {
				found++
				if problem := unknownIn(command[1]); problem != "" {
					t.Errorf("%s: sbctl %s: %s", path, strings.TrimSpace(command[1]), problem)
				}
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if found < 300 {
		t.Errorf("only %d commands were found", found)
	}
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

// codeOf returns the lines of blocks of code and the code within lines.
func codeOf(text string) (code []string) {
	inline := regexp.MustCompile("`([^`\n]+)`")
	block := false
	for line := range strings.Lines(text) {
		switch {
		case strings.HasPrefix(strings.TrimSpace(line), "```"):
			block = !block
		case block:
			line, _, _ = strings.Cut(line, " #")
			code = append(code, line)
		default:
			for _, found := range inline.FindAllStringSubmatch(line, -1) {
				code = append(code, found[1])
			}
		}
	}
	return code
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
