package tui

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"github.com/scoreboard/scoreboard/client"
)

// playedBack is the connection of a state that is of the past.
const playedBack client.Connection = "playback"

// playbackPane plays the board's past.
type playbackPane struct {
	*shared
	reel   *reel // nil: the board is live
	newest *client.State
	info   *client.Board
	events *activity

	show, readInfo func() tea.Cmd
	reset          func() // forgets the rows: the next ones do not move to their places
}

type (
	timelineMsg struct {
		timeline client.Timeline
		err      error
	}
	playbackTickMsg struct{ last time.Time }
)

// nextTick schedules the next look at the playback.
func (pane *playbackPane) nextTick() tea.Cmd {
	last := pane.now()
	return tea.Tick(playbackTick, func(time.Time) tea.Msg { return playbackTickMsg{last} })
}

// loadTimeline reads the next part if it is needed.
func (pane *playbackPane) loadTimeline() tea.Cmd {
	r := pane.reel
	if !r.wants() {
		return nil
	}
	r.loading = true
	from, to, step, load := r.next, r.To, r.Step(), r.Load
	if r.begun {
		to = r.end
	}
	return func() tea.Msg {
		ctx, cancel := context.WithTimeout(pane.ctx, actionTimeout)
		defer cancel()
		timeline, err := load(ctx, from, to, step)
		return timelineMsg{timeline, err}
	}
}

// setTimeline adds a part.
func (pane *playbackPane) setTimeline(msg timelineMsg) tea.Cmd {
	r := pane.reel
	r.loading, r.err = false, msg.err
	if msg.err != nil {
		r.playing = false
		return nil
	}
	first := !r.begun
	r.add(&msg.timeline)
	pane.showPast()
	if first && pane.info.Board == "" {
		return tea.Batch(pane.readInfo(), pane.loadTimeline())
	}
	return pane.loadTimeline()
}

// playOn lets the time since the last tick pass.
func (pane *playbackPane) playOn(msg playbackTickMsg) tea.Cmd {
	pane.reel.advance(pane.now().Sub(msg.last))
	pane.showPast()
	return tea.Batch(pane.loadTimeline(), pane.nextTick())
}

// showPast puts the frame of the moment on the screen.
func (pane *playbackPane) showPast() {
	i := pane.reel.index()
	if i < 0 {
		return
	}
	f := &pane.reel.frames[i]
	if pane.newest.UpdatedAt.Equal(f.At) {
		return
	}
	*pane.newest = client.State{
		Board: pane.reel.board, Entries: f.Entries, Version: 1, UpdatedAt: f.At, Connection: playedBack,
	}
	pane.show()
}

// moment is the time on the screen: of the playback, or now.
func (pane *headerPane) moment() time.Time {
	if pane.reel != nil {
		return pane.reel.at
	}
	return pane.now()
}

// handleKey handles a key of a playback. Keys of the live board say that they are not available.
func (pane *playbackPane) handleKey(msg tea.KeyMsg) (cmd tea.Cmd, handled bool) {
	r := pane.reel
	switch {
	case key.Matches(msg, keys.pause):
		switch {
		case r.err != nil:
			r.err, r.playing = nil, true
		case r.ended():
			r.rewind()
			pane.reset()
			*pane.newest, *pane.events = client.State{}, activity{}
		default:
			r.playing = !r.playing
		}
		return pane.loadTimeline(), true
	case key.Matches(msg, keys.earlier), key.Matches(msg, keys.later):
		by := 1
		if key.Matches(msg, keys.earlier) {
			by = -1
		}
		r.playing = false
		if r.turn(by); by < 0 { // what has not happened yet is no event, and no row moves back
			pane.reset()
			pane.events.forget(r.at)
			*pane.newest = client.State{}
		}
		pane.showPast()
		return pane.loadTimeline(), true
	case key.Matches(msg, keys.faster):
		r.faster(1)
	case key.Matches(msg, keys.slower):
		r.faster(-1)
	case key.Matches(msg, keys.find), key.Matches(msg, keys.board), key.Matches(msg, keys.period),
		key.Matches(msg, keys.open), key.Matches(msg, keys.me), key.Matches(msg, keys.actions),
		key.Matches(msg, keys.status):
		pane.notify("not available in a playback")
	default:
		return nil, false
	}
	return pane.loadTimeline(), true
}

// playbackWords say which moment is shown, at which speed.
func (pane *headerPane) playbackWords() string {
	r, th := pane.reel, &pane.theme
	if !r.begun {
		return th.dim.paint("loading")
	}
	return th.strong.paint(r.at.UTC().Format("2 Jan 2006 15:04:05")) + " UTC" +
		th.dim.paint(th.between+speedWords(r.Speed))
}

// speedWords format a speed: 60x, 1.5x.
func speedWords(speed float64) string { return strconv.FormatFloat(speed, 'f', -1, 64) + "x" }

// reelLine is the line below the header: how much of the past is behind the moment shown, and
// how much of the rest is loaded.
func (pane *headerPane) reelLine(width int) string {
	r, th := pane.reel, &pane.theme
	mark, words := th.play, "playing"
	switch {
	case r.ended():
		mark, words = th.stop, "the end"
	case r.loading && (!r.begun || !r.loaded().After(r.at)):
		mark, words = th.play, "loading"
	case !r.playing:
		mark, words = th.pause, "paused"
	}
	left := " " + th.key.paint(mark) + " " + fit(words, len("playing"), "") + " "
	if !r.begun {
		return fit(left, width, th.more)
	}
	const layout = "2 Jan 15:04"
	from, to := r.start.UTC().Format(layout), r.end.UTC().Format(layout)
	room := width - cells(left) - len(from) - len(to) - 4
	if room < minBar {
		return fit(left+th.dim.paint(from+" - "+to), width, th.more)
	}
	cells := func(t time.Time) int {
		if !r.end.After(r.start) {
			return room
		}
		return int(math.Round(float64(t.Sub(r.start)) / float64(r.end.Sub(r.start)) * float64(room)))
	}
	shown := min(max(cells(r.at), 0), room)
	known := min(max(cells(r.loaded()), shown), room)
	return left + th.dim.paint(from) + " " + th.spark.paint(strings.Repeat(th.track[0], shown)) +
		th.dim.paint(strings.Repeat(th.track[1], known-shown)) +
		th.border.paint(strings.Repeat(th.track[2], room-known)) + " " + th.dim.paint(to) + "  "
}

// playbackBanners are the lines below the header in a playback.
func (pane *headerPane) playbackBanners() []string {
	th := &pane.theme
	lines := []string{pane.reelLine(pane.width)}
	if err := pane.reel.err; err != nil {
		lines = append(lines, th.problem.paint(fit(" "+Printable(fmt.Sprintf("%s; space tries again",
			pane.o.Explain(err))), pane.width, th.more)))
	}
	return lines
}
