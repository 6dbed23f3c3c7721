package main

import (
	"strings"

	"github.com/charmbracelet/lipgloss"
	"github.com/muesli/termenv"
)

// colorModes are the values of --color.
var colorModes = []string{"auto", "always", "never"}

// style is how tables look. The zero value is plain text, as in a pipe.
type style struct {
	heading lipgloss.Style
	verdict map[verdict]lipgloss.Style
	marks   bool // before statuses
	colors  bool
}

// verdict is what a status means.
type verdict string

const (
	good    verdict = "✓"
	caution verdict = "!"
	bad     verdict = "✗"
	neutral verdict = "–"
)

// verdicts are the meanings of the statuses and states that tables show, by their first
// word.
var verdicts = map[string]verdict{
	"ok": good, "active": good, "done": good, "intact": good, "healthy": good, "passed": good,
	"warn": caution, "ended": caution, "frozen": caution, "pending": caution, "rebuilding": caution, "open": caution,
	"differs": caution, "improved": good, "regressed": bad, "mismatch": bad,
	"undoing": caution, "working": caution, "expired": caution, "degraded": caution,
	"fail": bad, "failed": bad, "banned": bad, "broken": bad, "interrupted": bad, "rejected": bad, "missing": bad,
	"skipped": neutral, "archived": neutral, "dismissed": neutral, "undone": neutral, "revoked": neutral,
	"confirmed": neutral,
}

// statusColumns are the headings and labels of cells that are a status.
var statusColumns = map[string]bool{"status": true, "state": true, "result": true}

// environment is the program's environment, for termenv.
type environment map[string]string

func (e environment) Environ() []string {
	var all []string
	for name, value := range e {
		all = append(all, name+"="+value)
	}
	return all
}

func (e environment) Getenv(name string) string { return e[name] }

// newStyle follows --color, else NO_COLOR, CLICOLOR and CLICOLOR_FORCE, else uses colours
// on a terminal. Marks need no colour: they are for terminals and --color always.
func (out *output) newStyle() style {
	output := termenv.NewOutput(out.stdout, termenv.WithEnvironment(environment(out.env)))
	profile := output.EnvColorProfile()
	switch {
	case out.color == "never":
		profile = termenv.Ascii
	case out.color == "always" && profile == termenv.Ascii:
		profile = termenv.ANSI
	}
	renderer := lipgloss.NewRenderer(out.stdout)
	renderer.SetColorProfile(profile)
	color := func(c string) lipgloss.Style { return renderer.NewStyle().Foreground(lipgloss.Color(c)) }
	return style{
		heading: renderer.NewStyle().Bold(true),
		verdict: map[verdict]lipgloss.Style{
			good: color("2"), caution: color("3"), bad: color("1").Bold(true), neutral: renderer.NewStyle().Faint(true),
		},
		marks:  isTerminal(out.stdout) || out.color == "always",
		colors: profile != termenv.Ascii,
	}
}

// verdictOf returns the meaning of a status; "" if it has none.
func verdictOf(cell string) verdict {
	word, _, _ := strings.Cut(strings.ToLower(cell), " ")
	return verdicts[strings.TrimRight(word, ",:")]
}
