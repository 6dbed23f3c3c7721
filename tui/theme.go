package tui

import (
	"fmt"
	"strings"

	"github.com/charmbracelet/lipgloss"
	"github.com/muesli/termenv"

	"github.com/scoreboard/scoreboard/internal/design"
	"github.com/scoreboard/scoreboard/internal/spark"
)

// ink is a style as the escape sequences around a text. Styles are made once, because
// rendering with lipgloss costs more than the rest of a frame.
type ink struct{ before, after string }

func (i ink) paint(text string) string {
	if text == "" || i.before == "" {
		return text
	}
	return i.before + text + i.after
}

func newInk(s lipgloss.Style) ink {
	before, after, _ := strings.Cut(s.Render("x"), "x")
	return ink{before, after}
}

// theme is the look of the screen: colours for a dark or a light background, in as many
// colours as the terminal has. With sixteen colours it uses those of the terminal, which
// its own theme makes readable; yellow only on a dark background.
type theme struct {
	dark                         bool
	title, dim, key, border      ink
	up, down, added, own, strong ink
	gold                         ink // milestones and the leader
	good, warn, problem          ink
	chip                         ink    // a word that needs attention, such as frozen
	podium                       [3]ink // the ranks 1 to 3
	bar                          []ink  // from the left end of a bar to its right end
	fading                       []ink  // a changed score, from the change on
	spark                        ink
	selected                     ink // the row under the cursor; with sixteen colours its mark is enough

	glyphs
}

// glyphs are the characters of the screen.
type glyphs struct {
	ascii                                bool
	upMark, downMark, dot, more, between string
	mark, arrows, sideways, cursor, to   string
	tie, flag                            string
	star, info, separator, full          string    // full is a whole cell, above the last spark
	play, pause, stop                    string    // of a playback
	track                                [3]string // of a playback: shown, loaded, the rest
	bars                                 []string  // partial fills of a cell, from the left
	sparks                               []string  // partial fills, from below
	box                                  [6]string // corners from the top left clockwise, horizontal, vertical
}

var unicodeGlyphs = glyphs{
	upMark: "▲", downMark: "▼", dot: "●", more: "…", between: " · ",
	mark: "▌", arrows: "↑↓", sideways: "←→", cursor: "▏", to: "→",
	tie: "=", flag: "⚑", star: "★", info: "•", separator: "┈", full: "█",
	play: "▶", pause: "‖", stop: "■", track: [3]string{"━", "─", "┈"},
	bars:   []string{"╸", "━"},
	sparks: []string{"▁", "▂", "▃", "▄", "▅", "▆", "▇"}, // not █, which would touch the line above
	box:    [6]string{"╭", "╮", "╯", "╰", "─", "│"},
}

var asciiGlyphs = glyphs{
	ascii:  true,
	upMark: "^", downMark: "v", dot: "*", more: "~", between: " | ",
	mark: ">", arrows: "up down", sideways: "left right", cursor: "_", to: ">",
	tie: "=", flag: "!", star: "*", info: "-", separator: "-", full: "#",
	play: ">", pause: "=", stop: "#", track: [3]string{"=", "-", "."},
	bars:   []string{"#"},
	sparks: []string{".", ":", "|"},
	box:    [6]string{"+", "+", "+", "+", "-", "|"},
}

// Steps of a gradient. More look the same and cost bytes on a slow connection.
const (
	barSteps  = 8
	fadeSteps = 3
)

// newTheme returns the theme for a terminal with the colours of r.
func newTheme(r *lipgloss.Renderer, dark, ascii bool) theme {
	t := theme{dark: dark, glyphs: unicodeGlyphs}
	if ascii {
		t.glyphs = asciiGlyphs
	}
	bold := r.NewStyle().Bold(true)
	t.title, t.key, t.strong = newInk(bold), newInk(bold), newInk(bold)
	if profile := r.ColorProfile(); profile == termenv.ANSI || profile == termenv.Ascii {
		t.sixteen(r)
		return t
	}
	p := design.Light
	if dark {
		p = design.Dark
	}
	colour := func(c string) lipgloss.Style { return r.NewStyle().Foreground(lipgloss.Color(c)) }
	t.title = newInk(colour(p.Accent).Bold(true))
	t.key = newInk(colour(p.Accent))
	t.dim, t.border = newInk(colour(p.Dim)), newInk(colour(p.Frame))
	t.up, t.down, t.added = newInk(colour(p.Up)), newInk(colour(p.Down)), newInk(colour(p.Added))
	t.own = newInk(colour(p.Accent).Bold(true))
	t.gold = newInk(colour(p.Gold))
	t.good, t.warn, t.problem = newInk(colour(p.Good)), newInk(colour(p.Warn)), newInk(colour(p.Bad).Bold(true))
	t.chip = newInk(colour(p.ChipText).Bold(true).Background(lipgloss.Color(p.ChipBackdrop)))
	t.podium = [3]ink{
		newInk(colour(p.Gold).Bold(true)), newInk(colour(p.Silver).Bold(true)),
		newInk(colour(p.Bronze).Bold(true)),
	}
	for i := range barSteps {
		t.bar = append(t.bar, newInk(colour(mix(p.BarFrom, p.BarTo, float64(i)/(barSteps-1)))))
	}
	for i := range fadeSteps {
		s := colour(mix(p.Changed, p.Text, float64(i)/fadeSteps))
		t.fading = append(t.fading, newInk(s.Bold(i == 0)))
	}
	t.spark = newInk(colour(p.BarTo))
	t.selected = newInk(r.NewStyle().Background(lipgloss.Color(p.Selected)))
	return t
}

// sixteen sets the colours of a terminal with sixteen. Without colours all inks are
// empty.
func (t *theme) sixteen(r *lipgloss.Renderer) {
	colour := func(n string) lipgloss.Style { return r.NewStyle().Foreground(lipgloss.Color(n)) }
	yellow := r.NewStyle()
	if t.dark {
		yellow = colour("3")
	}
	dim := newInk(r.NewStyle().Faint(true))
	t.dim, t.border = dim, dim
	t.up, t.down, t.added = newInk(colour("2")), newInk(colour("1")), newInk(colour("6"))
	t.own = newInk(colour("4").Bold(true))
	t.gold = newInk(yellow)
	t.good, t.warn, t.problem = newInk(colour("2")), newInk(yellow.Bold(true)), newInk(colour("1").Bold(true))
	t.chip = newInk(colour("0").Background(lipgloss.Color("3")))
	bold := newInk(r.NewStyle().Bold(true))
	t.podium = [3]ink{newInk(yellow.Bold(true)), bold, bold}
	t.bar = []ink{newInk(colour("4"))}
	t.fading = []ink{newInk(colour("5").Bold(true)), newInk(colour("5"))}
	t.spark = newInk(colour("6"))
}

// mix returns the colour between two, at 0 the first and at 1 the second. Colours have
// the form #rrggbb.
func mix(from, to string, at float64) string {
	var a, b [3]int
	_, _ = fmt.Sscanf(from, "#%02x%02x%02x", &a[0], &a[1], &a[2])
	_, _ = fmt.Sscanf(to, "#%02x%02x%02x", &b[0], &b[1], &b[2])
	for i := range a {
		a[i] += int(float64(b[i]-a[i])*at + 0.5)
	}
	return fmt.Sprintf("#%02x%02x%02x", a[0], a[1], a[2])
}

// onSelected draws a line on the background of the cursor.
func (t *theme) onSelected(line string) string {
	i := t.selected
	if i.before == "" {
		return line
	}
	return i.before + strings.ReplaceAll(line, i.after, i.after+i.before) + i.after
}

// sparkline draws values from 0 to the largest, one cell each; 0 is blank.
func (t *theme) sparkline(values []float64) string {
	largest := 0.0
	for _, v := range values {
		largest = max(largest, v)
	}
	return spark.Columns(values, largest, 1, t.sparks)[0]
}
