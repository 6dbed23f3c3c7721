package tui

import "github.com/charmbracelet/lipgloss"

// style is the look of the screen. It uses the terminal's sixteen colours, which
// its theme makes readable. Yellow is often unreadable on a light background, so it
// is the background of black text.
type style struct {
	title, dim, key          lipgloss.Style
	up, down, added          lipgloss.Style // movement
	flash, own, found        lipgloss.Style // rows
	bar, good, warn, problem lipgloss.Style
	box                      lipgloss.Style

	ascii                                  bool
	upMark, downMark, dot, more            string
	rule, ownMark, between, arrows, cursor string
	bars                                   []string // partial fills of a cell, from the left
	sparks                                 []string // partial fills, from below
}

func newStyle(r *lipgloss.Renderer, ascii bool) style {
	onYellow := r.NewStyle().Foreground(lipgloss.Color("0")).Background(lipgloss.Color("3"))
	colour := func(n string) lipgloss.Style { return r.NewStyle().Foreground(lipgloss.Color(n)) }
	s := style{
		title:   r.NewStyle().Bold(true),
		dim:     r.NewStyle().Faint(true),
		key:     r.NewStyle().Bold(true),
		up:      colour("2"),
		down:    colour("1"),
		added:   colour("6"),
		flash:   onYellow,
		own:     r.NewStyle().Bold(true),
		found:   r.NewStyle().Reverse(true),
		bar:     colour("4"),
		good:    colour("2"),
		warn:    onYellow,
		problem: colour("1").Bold(true),
		box:     r.NewStyle().Border(lipgloss.RoundedBorder()).Padding(0, 2),

		upMark:   "▲",
		downMark: "▼",
		dot:      "●",
		more:     "…",
		rule:     "─",
		ownMark:  "◀",
		between:  " · ",
		arrows:   "↑↓",
		cursor:   "▏",
		bars:     []string{"▏", "▎", "▍", "▌", "▋", "▊", "▉", "█"},
		sparks:   []string{"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"},
	}
	if ascii {
		s.ascii = true
		s.box = s.box.Border(lipgloss.ASCIIBorder())
		s.upMark, s.downMark, s.dot, s.more = "^", "v", "*", "~"
		s.rule, s.ownMark, s.between, s.arrows, s.cursor = "-", "<", " | ", "up down", "_"
		s.bars, s.sparks = []string{"#"}, []string{".", ":", "|"}
	}
	return s
}
