// Package pagecommand finds the commands in pages of the documentation, and checks them
// against the programs' own commands and flags.
package pagecommand

import (
	"regexp"
	"strings"

	"github.com/spf13/cobra"
)

// In returns the commands of a program in a page: the lines of code blocks and the code
// spans that begin with its name, and what they run in $(…).
func In(page, program string) (lines []string) {
	begin := regexp.MustCompile(`^(?:\$ )?` + program + `(?: |$)`)
	inside := regexp.MustCompile(`\$\((` + program + ` [^)]*)\)`)
	block := false
	for line := range strings.Lines(page) {
		line = strings.TrimSpace(line)
		if m := inside.FindStringSubmatch(line); m != nil {
			lines = append(lines, m[1])
		}
		switch {
		case strings.HasPrefix(line, "```"):
			block = !block
		case block && begin.MatchString(line):
			lines = append(lines, line)
		case !block:
			for _, span := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(line, -1) {
				if begin.MatchString(span[1]) && span[1] != program {
					lines = append(lines, span[1])
				}
			}
		}
	}
	return lines
}

// Problem says what is wrong with a command line; "" for nothing.
func Problem(root *cobra.Command, line string) string {
	var words []string
	for _, m := range regexp.MustCompile(`"([^"]*)"|(\S+)`).FindAllStringSubmatch(line, -1) {
		words = append(words, m[1]+m[2])
	}
	cmd, args, err := root.Find(words[1:])
	if err != nil {
		return err.Error()
	}
	if err := cmd.ParseFlags(args); err != nil {
		return err.Error()
	}
	if err := cmd.ValidateArgs(cmd.Flags().Args()); err != nil {
		return err.Error()
	}
	if !cmd.Runnable() || cmd.HasParent() && cmd.HasSubCommands() {
		return "this is no command, but a group of them"
	}
	return ""
}
