package tui

import "github.com/charmbracelet/lipgloss"

// style is how the screen looks. It uses the terminal's own sixteen colours,
// which its owner has chosen to be readable on their background.
type style struct {
	title, dim, key          lipgloss.Style
	up, down, fresh          lipgloss.Style // movement
	flash, own, found        lipgloss.Style // rows
	bar, good, warn, trouble lipgloss.Style
	box                      lipgloss.Style

	ascii                                bool
	upMark, downMark, dot, more          string
	rule, ownMark, between, cursor, wins string
	bars                                 []string // a cell's fill from least to full
	sparks                               []string // the same, from below
}

func newStyle(r *lipgloss.Renderer, ascii bool) style {
	colour := func(n string) lipgloss.Style { return r.NewStyle().Foreground(lipgloss.Color(n)) }
	s := style{
		title: r.NewStyle().Bold(true), dim: r.NewStyle().Faint(true), key: r.NewStyle().Bold(true),
		up: colour("2"), down: colour("1"), fresh: colour("6"),
		flash: colour("3").Bold(true), own: r.NewStyle().Bold(true), found: r.NewStyle().Reverse(true),
		bar: colour("4"), good: colour("2"), warn: colour("3"), trouble: colour("1").Bold(true),
		box: r.NewStyle().Border(lipgloss.RoundedBorder()).Padding(0, 2),

		upMark: "▲", downMark: "▼", dot: "●", more: "…", rule: "─", ownMark: "◀", between: " · ", cursor: "▏", wins: "★",
		bars:   []string{"▏", "▎", "▍", "▌", "▋", "▊", "▉", "█"},
		sparks: []string{"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"},
	}
	if ascii {
		s.ascii = true
		s.box = s.box.Border(lipgloss.ASCIIBorder())
		s.upMark, s.downMark, s.dot, s.more, s.rule, s.ownMark, s.between, s.cursor, s.wins = "^", "v", "*", "~", "-", "<", " | ", "_", "*"
		s.bars, s.sparks = []string{"#"}, []string{".", ":", "|"}
	}
	return s
}
