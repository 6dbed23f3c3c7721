package tui

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"github.com/scoreboard/scoreboard/client"
)

const (
	// The widths of a board's name and of its top in the list.
	boardWidth, previewWidth = 34, 34
	// previewRows is how many rows the preview has.
	previewRows = 10
	// previewAfter is how long the selection rests before its preview is read, so
	// that holding a key down does not send a request for each board.
	previewAfter = 150 * time.Millisecond
)

// chooser is the list to select a board from, with the top of the selected one.
type chooser struct {
	title   string
	items   []choice
	at      int // the selected item
	preview *client.Top
	err     error // of the preview
}

// chooserPane shows the list, if it is open.
type chooserPane struct {
	*shared
	*watched
	chooser *chooser
}

// choice is a board of the list.
type choice struct{ board, label, note string }

type (
	boardsMsg struct {
		family string
		boards []client.Board
		err    error
	}
	readPreviewMsg struct{ board string }
	previewMsg     struct {
		board string
		top   client.Top
		err   error
	}
)

// list reads the boards, or the periods of one.
func (m *model) list(family string) tea.Cmd {
	m.help = false
	m.notify("loading the boards")
	return m.request(func(ctx context.Context) tea.Msg {
		boards, err := m.o.Boards(ctx, family)
		return boardsMsg{family, boards, err}
	})
}

// openChooser opens the list.
func (pane *chooserPane) openChooser(msg boardsMsg) tea.Cmd {
	pane.notify("")
	if msg.err != nil {
		pane.notify(pane.o.Explain(msg.err))
		return nil
	}
	c := &chooser{title: "boards"}
	for _, b := range msg.boards {
		_, period, instance := strings.Cut(b.Board, ":")
		if instance != (msg.family != "") { // periods have a separate list
			continue
		}
		one := choice{board: b.Board, label: b.Board, note: boardNote(&b, pane.now())}
		if instance {
			one.label = period
		}
		c.items = append(c.items, one)
	}
	if msg.family != "" {
		if len(c.items) == 0 {
			pane.notify(msg.family + " has no periods")
			return nil
		}
		slices.Reverse(c.items) // newest first
		c.title = "periods of " + msg.family
		current := choice{board: msg.family, label: "current period", note: "follows the calendar"}
		c.items = append([]choice{current}, c.items...)
	}
	c.at = max(slices.IndexFunc(c.items, func(i choice) bool { return i.board == pane.watching }), 0)
	pane.chooser = c
	return pane.previewSoon(0)
}

// boardNote describes a board in the list.
func boardNote(b *client.Board, now time.Time) string {
	var words []string
	switch b.Mode {
	case "best":
		words = append(words, "best score")
	case "latest":
		words = append(words, "latest score")
	}
	if b.Period != "" && b.Period != "none" && !strings.Contains(b.Board, ":") {
		words = append(words, b.Period)
	}
	if b.PeriodEnd != nil && !b.PeriodEnd.After(now) {
		words = append(words, "ended "+b.PeriodEnd.Format("2 Jan 2006"))
	} else if b.Status != "" && b.Status != active {
		words = append(words, Printable(b.Status))
	}
	return strings.Join(words, ", ")
}

// previewSoon reads the preview after a while.
func (pane *chooserPane) previewSoon(after time.Duration) tea.Cmd {
	if pane.chooser == nil || len(pane.chooser.items) == 0 {
		return nil
	}
	board := pane.chooser.items[pane.chooser.at].board
	return tea.Tick(after, func(time.Time) tea.Msg { return readPreviewMsg{board} })
}

// readPreview reads the top of the selected board.
func (pane *chooserPane) readPreview(board string) tea.Cmd {
	if pane.chooser == nil || pane.chooser.items[pane.chooser.at].board != board {
		return nil // another one is selected now
	}
	return pane.request(func(ctx context.Context) tea.Msg {
		top, err := pane.o.Top(ctx, board, previewRows)
		return previewMsg{board, top, err}
	})
}

// setPreview shows the preview, and reads it again while the list is open.
func (pane *chooserPane) setPreview(msg previewMsg) tea.Cmd {
	c := pane.chooser
	if c == nil || c.items[c.at].board != msg.board {
		return nil
	}
	c.preview, c.err = &msg.top, msg.err
	return pane.previewSoon(statusInterval)
}

// chooserKey handles a key while the list is open.
func (m *model) chooserKey(msg tea.KeyMsg) tea.Cmd {
	c := m.chooser
	to := c.at
	switch {
	case msg.Type == tea.KeyCtrlC:
		return tea.Quit
	case key.Matches(msg, keys.dismiss):
		m.chooser = nil
		return nil
	case key.Matches(msg, keys.up):
		to--
	case key.Matches(msg, keys.down):
		to++
	case key.Matches(msg, keys.top):
		to = 0
	case key.Matches(msg, keys.bottom):
		to = len(c.items) - 1
	case key.Matches(msg, keys.open):
		m.chooser = nil
		if len(c.items) > 0 && c.items[c.at].board != m.watching {
			return m.watch(c.items[c.at].board)
		}
		return nil
	}
	to = max(min(to, len(c.items)-1), 0)
	if to == c.at {
		return nil
	}
	c.at, c.preview, c.err = to, nil, nil
	return m.previewSoon(previewAfter)
}

// chooserView draws the list around the selection, and the preview beside it if there
// is room.
func (pane *chooserPane) chooserView(width, height int) []string {
	c, th := pane.chooser, &pane.theme
	room := max(min(height-4, max(len(c.items), previewRows)), 1)
	inner := width - 6
	listWidth, preview := min(inner, boardWidth), inner >= boardWidth+3+minPreview
	first := max(min(c.at-room/2, len(c.items)-room), 0)
	var lines []string
	for i := first; i < min(first+room, len(c.items)); i++ {
		one := c.items[i]
		note := ""
		if wide := listWidth - 2 - cells(one.label) - 2; wide > len(one.note)-1 {
			note = one.note
		}
		mark, label := " ", Printable(one.label)
		if i == c.at {
			mark = th.key.paint(th.mark)
		}
		line := fit(mark+" "+fit(label, min(cells(label), listWidth-2), th.more)+"  "+th.dim.paint(note),
			listWidth, th.more)
		if i == c.at {
			line = th.onSelected(line)
		}
		lines = append(lines, line)
	}
	if preview {
		beside := pane.previewLines(min(inner-listWidth-3, previewWidth))
		for i := range max(len(lines), min(len(beside), room)) {
			if i == len(lines) {
				lines = append(lines, strings.Repeat(" ", listWidth))
			}
			lines[i] += " " + th.border.paint(th.box[5]) + " "
			if i < len(beside) {
				lines[i] += beside[i]
			}
		}
		listWidth += 3 + min(inner-listWidth-3, previewWidth)
	}
	lines = append(lines, th.shortHelp([]key.Binding{brief(keys.open, "watch"), keys.dismiss}, listWidth))
	return th.panel(c.title, lines, listWidth+4, len(lines)+2)
}

// minPreview is the minimum width of a preview.
const minPreview = 20

func (pane *chooserPane) previewLines(width int) []string {
	c, th := pane.chooser, &pane.theme
	switch {
	case c.err != nil:
		return []string{th.dim.paint(fit(Printable(pane.o.Explain(c.err)), width, th.more))}
	case c.preview == nil:
		return []string{th.dim.paint(fit("loading", width, th.more))}
	case len(c.preview.Entries) == 0:
		return []string{th.dim.paint(fit("no players yet", width, th.more))}
	}
	wideScore := 0
	for _, e := range c.preview.Entries {
		wideScore = max(wideScore, len(scores(&e)))
	}
	lines := make([]string, 0, previewRows)
	for _, e := range c.preview.Entries {
		i := ink{}
		if e.Rank <= int64(len(th.podium)) {
			i = th.podium[e.Rank-1]
		}
		user := fit(name(e, th.ascii), width-wideScore-7, th.more)
		user = i.paint(fitRight(grouped(e.Rank), 3) + "  " + user)
		lines = append(lines, user+"  "+fitRight(scores(&e), wideScore))
	}
	return lines
}
