package tui

import (
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/charmbracelet/x/ansi"

	"github.com/scoreboard/scoreboard/client"
)

// Printable drops from other people's text what could steer a terminal, turn
// its writing direction, or be drawn in a width that terminals disagree about:
// control and format characters, joiners and variation selectors.
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

// leftToRight ends a run of right-to-left letters, so that a terminal that
// reorders does not pull the numbers after a name into it. It has no width.
const leftToRight = "\u200e"

func rightToLeft(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool {
		return r >= 0x0590 && r <= 0x08ff || r >= 0xfb1d && r <= 0xfdff || r >= 0xfe70 && r <= 0xfefc
	})
}

// name is what a row calls its user.
func name(e client.Entry, ascii bool) string {
	shown := Printable(e.DisplayName)
	if strings.TrimSpace(shown) == "" || ascii && !isASCII(shown) {
		return e.UserID
	}
	return shown
}

func isASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r > unicode.MaxASCII })
}

// toASCII puts a question mark where ASCII has nothing.
func toASCII(s string) string {
	return strings.Map(func(r rune) rune {
		if r > unicode.MaxASCII {
			return '?'
		}
		return r
	}, s)
}

// fit makes s exactly w cells wide, cut or filled on the right.
func fit(s string, w int, more string) string {
	if w <= 0 {
		return ""
	}
	if ansi.StringWidth(s) > w {
		s = ansi.Truncate(s, w, more)
	}
	mark := ""
	if rightToLeft(s) {
		mark = leftToRight
	}
	return s + mark + strings.Repeat(" ", w-ansi.StringWidth(s))
}

// fitRight makes s exactly w cells wide, filled on the left.
func fitRight(s string, w int) string {
	if n := w - ansi.StringWidth(s); n > 0 {
		return strings.Repeat(" ", n) + s
	}
	return ansi.Truncate(s, w, "")
}

// grouped writes a number with its thousands apart.
func grouped(n int64) string {
	s := strconv.FormatInt(n, 10)
	sign := ""
	if n < 0 {
		sign, s = "-", s[1:]
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return sign + s
}

// signed is grouped with a plus.
func signed(n int64) string {
	if n > 0 {
		return "+" + grouped(n)
	}
	return grouped(n)
}

// age says how old something is, short enough for a header.
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
