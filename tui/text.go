package tui

import (
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/charmbracelet/x/ansi"

	"github.com/scoreboard/scoreboard/client"
	counts "github.com/scoreboard/scoreboard/internal/english"
)

// Printable removes from untrusted text what could control a terminal, change the
// text direction, or have a width that terminals disagree about: control and format
// characters, joiners and variation selectors.
func Printable(s string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsGraphic(r) || unicode.Is(unicode.Variation_Selector, r) {
			return -1
		}
		if unicode.IsSpace(r) {
			return ' '
		}
		return r
	}, s)
}

// leftToRight ends a run of right-to-left letters, so that a terminal that reorders
// text keeps the numbers after a name in place. It has no width.
const leftToRight = "\u200e"

func rightToLeft(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool {
		return r >= 0x0590 && r <= 0x08ff || r >= 0xfb1d && r <= 0xfdff || r >= 0xfe70 && r <= 0xfefc
	})
}

// name returns the displayed name of an entry.
func name(e client.Entry, ascii bool) string {
	shown := Printable(e.DisplayName)
	if strings.TrimSpace(shown) == "" || ascii && !isASCII(shown) {
		return Printable(e.UserID)
	}
	return shown
}

func isASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r > unicode.MaxASCII })
}

// toASCII replaces an arrow with > and other characters outside ASCII with a
// question mark.
func toASCII(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '→' {
			return '>'
		}
		if r > unicode.MaxASCII {
			return '?'
		}
		return r
	}, s)
}

// cells is the width of a text on the screen. Most texts are ASCII, whose bytes need no grouping.
func cells(s string) int {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return ansi.StringWidth(s)
		}
	}
	return len(s)
}

// fit truncates or pads s on the right to exactly w cells.
func fit(s string, w int, more string) string {
	if w <= 0 {
		return ""
	}
	if cells(s) > w {
		s = ansi.Truncate(s, w, more)
	}
	mark := ""
	if rightToLeft(s) {
		mark = leftToRight
	}
	return s + mark + strings.Repeat(" ", w-cells(s))
}

// fitRight pads s on the left to exactly w cells.
func fitRight(s string, w int) string {
	if n := w - cells(s); n > 0 {
		return strings.Repeat(" ", n) + s
	}
	return ansi.Truncate(s, w, "")
}

// grouped formats a number with thousands separators.
func grouped(n int64) string { return counts.Grouped(n) }

// ordinal formats a rank: 1st, 2nd, 82nd.
func ordinal(n int64) string {
	suffix := "th"
	if n%100 < 11 || n%100 > 13 {
		switch n % 10 {
		case 1:
			suffix = "st"
		case 2:
			suffix = "nd"
		case 3:
			suffix = "rd"
		}
	}
	return grouped(n) + suffix
}

// signed is grouped with a plus sign.
func signed(n int64) string {
	if n > 0 {
		return "+" + grouped(n)
	}
	return grouped(n)
}

// age formats a duration for the header.
func age(d time.Duration) string {
	switch {
	case d < 0:
		d = 0
		fallthrough
	case d < 10*time.Second:
		return strconv.FormatFloat(d.Seconds(), 'f', 1, 64) + " s"
	case d < 2*time.Minute:
		return strconv.Itoa(int(d.Seconds())) + " s"
	case d < 2*time.Hour:
		return strconv.Itoa(int(d.Minutes())) + " min"
	}
	return strconv.Itoa(int(d.Hours())) + " h"
}

// pad fills a line with spaces to a width.
func pad(s string, w int) string { return s + strings.Repeat(" ", max(w-cells(s), 0)) }
