package tui

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/muesli/termenv"

	"github.com/scoreboard/scoreboard/client"
)

var update = flag.Bool("update", false, "rewrite the golden screens")

var sizes = [][2]int{{40, 12}, {80, 24}, {120, 40}, {200, 60}}

// scenes are what the golden screens show. Some have a panel above the others.
var scenes = []struct {
	name    string
	overlay bool
	play    func(*screen)
}{
	{"board", false, busy},
	{"disconnected", false, func(s *screen) {
		for _, frame := range recorded() {
			s.Update(stateMsg{state: frame})
		}
		s.wait(42 * time.Second)
	}},
	{"player", false, func(s *screen) { busy(s); openBob(s) }},
	{"failing", false, func(s *screen) {
		for i, frame := range recorded()[:2] {
			s.clock = start.Add(time.Duration(i) * 7 * time.Second)
			s.Update(stateMsg{state: frame})
		}
		s.Update(statusMsg{status: failingStatus()})
	}},
	{"boards", true, func(s *screen) {
		busy(s)
		s.Update(boardsMsg{boards: []client.Board{
			{Board: "daily", Period: "daily"},
			{Board: "daily:2026-11-21"},
			{Board: "global", Period: "none"},
			{Board: "arena", Mode: "best", Status: frozen},
		}})
		s.keys("end")
		s.Update(previewMsg{board: "arena", top: client.Top{Entries: recorded()[0].Entries[:6]}})
	}},
	{"periods", true, func(s *screen) {
		busy(s)
		s.Update(boardsMsg{family: "daily", boards: []client.Board{
			{Board: "daily"},
			{Board: "daily:2026-11-20", Status: Ended, PeriodEnd: &start},
			{Board: "daily:2026-11-21", Status: active},
		}})
		s.keys("down")
		s.Update(previewMsg{board: "daily:2026-11-21", top: client.Top{Entries: recorded()[0].Entries[:3]}})
	}},
	{"actions", true, func(s *screen) { busy(s); s.keys("a", "down") }},
	{"reason", true, func(s *screen) { busy(s); s.keys("a", "enter", "two accounts") }},
	{"find", false, func(s *screen) {
		s.Update(stateMsg{state: recorded()[0]})
		s.keys("/frank.of.the-very.long:name@example.org", "left", "left", "left")
	}},
	{"help", true, func(s *screen) { busy(s); s.keys("?") }},
	{"long", false, func(s *screen) { s.Update(stateMsg{state: hundred()}); s.View(); s.keys("pgdown", "down") }},
	{"ended", false, func(s *screen) {
		s.Update(infoMsg{board: autumn(active)})
		season := recorded()[1]
		season.Board = "cup:autumn"
		s.Update(stateMsg{state: season})
		s.Update(infoMsg{board: autumn(Ended)})
	}},
	{"frozen", false, func(s *screen) {
		busy(s)
		s.Update(infoMsg{board: client.Board{Board: "global", Status: frozen}})
	}},
	{"archived", false, func(s *screen) {
		s.Update(stateMsg{state: recorded()[0]})
		s.Update(infoMsg{board: client.Board{Board: "global", Status: archived}})
	}},
	{"degraded", false, func(s *screen) {
		degraded := recorded()[0]
		degraded.Degraded = "ranking_unavailable"
		s.Update(stateMsg{state: degraded})
	}},
	{"polling", false, func(s *screen) {
		polling := recorded()[0]
		polling.Connection, polling.Err = client.Polling, errors.New("5 of 5 streams of this user are in use")
		s.Update(stateMsg{state: polling})
	}},
	{"connecting", false, func(*screen) {}},
	{"empty", false, func(s *screen) {
		s.Update(stateMsg{state: client.State{Board: "global", HeardAt: start, Connection: client.WebSocket}})
	}},
}

// TestGoldenScreens compares every scene at every size and in every look with its file,
// testdata/screens/SCENE_SIZE.txt. It holds the text without colours and in ASCII, and for
// the looks with colours a letter in the place of each cell that names its style; equal
// letters are there once, for the first look. It also fails for a screen that does not fit.
func TestGoldenScreens(t *testing.T) {
	for _, scene := range scenes {
		for _, size := range sizes {
			name := fmt.Sprintf("%s_%dx%d", scene.name, size[0], size[1])
			t.Run(name, func(t *testing.T) {
				var got strings.Builder
				text, letters := "", ""
				for _, l := range looks {
					if l.colours == termenv.ANSI && scene.name != "board" {
						continue // the other scenes have the same theme
					}
					s := newScreen(t, size[0], size[1], l)
					scene.play(s)
					view := s.View()
					fits(t, s)
					shown, cells, legend := dissect(t, view)
					fmt.Fprintf(&got, "-- %s --\n", l.name)
					switch {
					case l.colours == termenv.Ascii:
						got.WriteString(folded(shown))
						if legend != "" {
							t.Errorf("the screen without colours has styles: %s", legend)
						}
						if l.ascii != isASCII(view) {
							t.Errorf("%s: the screen is ASCII: %v", l.name, !l.ascii)
						}
					case shown != text:
						t.Errorf("%s has other text than without colours:\n%s", l.name, shown)
					case cells != letters:
						got.WriteString(folded(cells))
						letters = cells
					}
					got.WriteString(legend)
					if !l.ascii {
						text = shown
						connects(t, shown, scene.overlay)
					}
				}
				compare(t, filepath.Join("testdata", "screens", name+".txt"), got.String())
			})
		}
	}
}

// folded writes three or more equal lines that follow each other once, with their number.
func folded(text string) string {
	var b strings.Builder
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); {
		n := 1
		for i+n < len(lines) && lines[i+n] == lines[i] {
			n++
		}
		if n > 2 {
			fmt.Fprintf(&b, "%s\n(%d such lines)\n", lines[i], n)
		} else {
			b.WriteString(strings.Repeat(lines[i]+"\n", n))
		}
		i += n
	}
	return b.String()
}

func compare(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs (-update rewrites it); got:\n%s\nwant:\n%s", path, got, want)
	}
}

// dissect separates the text of a screen from its styles: cells has a letter for the style
// of each cell, and legend the sequence of each letter. Trailing spaces are cut off. A style
// that goes on at the end of a line, and any other escape sequence, is an error.
func dissect(t *testing.T, view string) (text, cells, legend string) {
	t.Helper()
	const names = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	var shown, under []string
	var styles []string
	for line := range strings.SplitSeq(view, "\n") {
		style, letter := "", " "
		var drawn, row strings.Builder
		var state byte
		for line != "" {
			seq, width, n, next := ansi.DecodeSequence(line, state, nil)
			line, state = line[n:], next
			if !strings.HasPrefix(seq, "\x1b") {
				drawn.WriteString(seq)
				row.WriteString(strings.Repeat(letter, width))
				continue
			}
			parameters, ok := strings.CutSuffix(strings.TrimPrefix(seq, "\x1b["), "m")
			if !ok {
				t.Fatalf("the screen has the sequence %q", seq)
			}
			if style = strings.TrimPrefix(style+";"+parameters, ";"); parameters == "" || parameters == "0" {
				style, letter = "", " "
				continue
			}
			i := slices.Index(styles, style)
			if i < 0 {
				i, styles = len(styles), append(styles, style)
			}
			letter = names[i : i+1]
		}
		if style != "" {
			t.Errorf("the style %q goes on after the end of a line", style)
		}
		shown = append(shown, strings.TrimRight(drawn.String(), " "))
		under = append(under, strings.TrimRight(row.String(), " "))
	}
	for i, style := range styles {
		legend += fmt.Sprintf("%c: %s\n", names[i], style)
	}
	return strings.Join(shown, "\n"), strings.Join(under, "\n"), legend
}

// connects fails if the side of a panel has a gap: below its upper corners there is a side
// in each line, down to a lower corner. A panel above it may hide a part.
func connects(t *testing.T, text string, overlay bool) {
	t.Helper()
	var lines [][]string // a cell each; the second of a wide character is empty
	for line := range strings.SplitSeq(text, "\n") {
		var cells []string
		var state byte
		for line != "" {
			seq, width, n, next := ansi.DecodeSequence(line, state, nil)
			line, state = line[n:], next
			for i := range width {
				if i > 0 {
					seq = ""
				}
				cells = append(cells, seq)
			}
		}
		lines = append(lines, cells)
	}
	box := unicodeGlyphs.box
	at := func(x, y int) string {
		if y < len(lines) && x < len(lines[y]) {
			return lines[y][x]
		}
		return ""
	}
	for y, cells := range lines {
		for x, cell := range cells {
			if cell != box[0] && cell != box[1] {
				continue
			}
			bottom := box[3]
			if cell == box[1] {
				bottom = box[2]
			}
			hidden := 0 // parts
			for below := y + 1; at(x, below) != bottom; below++ {
				if at(x, below) == box[5] {
					continue
				}
				if at(x, below-1) == box[5] || below == y+1 {
					hidden++
				}
				if below >= len(lines) || hidden > 1 || !overlay {
					t.Errorf("the side from line %d, column %d ends at line %d:\n%s", y+1, x+1, below+1, text)
					break
				}
			}
		}
	}
}
