package tui

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"
)

// queryBackground asks the terminal for the colour of its background (OSC 11). The
// answer arrives among the keys, at any time or never, so nothing waits for it.
const queryBackground = "\x1b]11;?\x1b\\"

// answerTimeout is how long the keys of an answer may take. A terminal sends them at
// once; a user who presses alt+] has the keys back soon.
const answerTimeout = 200 * time.Millisecond

// terminalAnswer collects an answer of the terminal.
type terminalAnswer struct {
	until time.Time // zero: none
	text  strings.Builder
}

// terminalAnswered reports whether a key is part of the answer to queryBackground: Bubble
// Tea reads its ESC ] as alt+], and its end, ESC \ or BEL, as alt+\ or ctrl+g.
func (m *model) terminalAnswered(msg tea.KeyMsg) bool {
	a := &m.answer
	text := string(msg.Runes)
	switch {
	case msg.Alt && text == "]":
		a.until = m.now().Add(answerTimeout)
		a.text.Reset()
	case a.until.IsZero():
		return false
	case m.now().After(a.until):
		a.until = time.Time{}
		return false
	case msg.Alt && text == `\`, msg.Type == tea.KeyCtrlG:
		a.until = time.Time{}
		if dark, known := isDark(a.text.String()); known {
			m.setBackground(dark)
		}
	default:
		a.text.WriteString(text)
	}
	return true
}

// isDark reads an answer such as 11;rgb:1e1e/1e1e/2e2e.
func isDark(answer string) (dark, known bool) {
	colour, found := strings.CutPrefix(answer, "11;rgb:")
	parts := strings.Split(colour, "/")
	if !found || len(parts) != 3 {
		return false, false
	}
	bright := 0.0
	for i, weight := range []float64{0.299, 0.587, 0.114} {
		v, err := strconv.ParseUint(parts[i], 16, 16)
		if err != nil {
			return false, false
		}
		bright += weight * float64(v) / float64(uint64(1)<<(4*len(parts[i]))-1)
	}
	return bright < 0.5, true
}

// darkByEnvironment reads COLORFGBG, which some terminals set to colours such as 15;0.
// Most backgrounds are dark.
func darkByEnvironment(value string) bool {
	var background int
	_, err := fmt.Sscanf(value[strings.LastIndexByte(value, ';')+1:], "%d", &background)
	return err != nil || background < 7 || background == 8
}

// setBackground changes the theme.
func (s *shared) setBackground(dark bool) {
	if dark != s.theme.dark {
		s.theme = newTheme(s.renderer, dark, s.theme.ascii)
	}
}
