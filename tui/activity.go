package tui

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/scoreboard/scoreboard/client"
)

// kind is the kind of an event of the activity.
type kind int

const (
	gained  kind = iota // overtook others
	entered             // came to the ranks that matter
	lost                // fell or left
	milestone
	flagged
	told // of the board or the connection
)

// event is one line of the activity.
type event struct {
	at    time.Time
	kind  kind
	key   string // of repeats
	text  string
	times int
}

// activity holds recent events, oldest first.
type activity struct{ events []event }

const (
	// maxEvents exceeds what a screen shows.
	maxEvents = 64
	// maxEventLines is how many lines an event may take on a narrow panel.
	maxEventLines = 2
	// An event repeats another if its key is among this many of the newest ones, and
	// not older than this.
	repeatAmong = 8
	repeatAge   = time.Minute
)

// add adds an event. One that repeats another replaces it and counts.
func (f *activity) add(e event) {
	e.times = 1
	for i := len(f.events) - 1; i >= max(len(f.events)-repeatAmong, 0) && e.key != ""; i-- {
		if old := &f.events[i]; old.key == e.key && e.at.Sub(old.at).Abs() < repeatAge {
			e.times += old.times
			f.events = slices.Delete(f.events, i, i+1)
			break
		}
	}
	if len(f.events) == maxEvents {
		f.events = slices.Delete(f.events, 0, 1)
	}
	f.events = append(f.events, e)
}

// forget drops the events after a time.
func (f *activity) forget(after time.Time) {
	f.events = slices.DeleteFunc(f.events, func(e event) bool { return e.at.After(after) })
}

// eventTime is when what is shown happened: in a playback the time of its frame.
func (pane *boardPane) eventTime() time.Time {
	if pane.reel != nil {
		return pane.newest.UpdatedAt
	}
	return pane.now()
}

// tell adds an event of the board or the connection.
func (pane *boardPane) tell(text string) {
	pane.activity.add(event{at: pane.eventTime(), kind: told, key: text, text: text})
}

const (
	// notableRanks are the ranks that users enter and leave in the activity, and
	// notableOvertakes those for which they overtake others.
	notableRanks, notableOvertakes = 10, 5
	// maxNotable is how many events of one state it reports, of the best ranks.
	maxNotable = 4
	// minMilestone is the first score that is a milestone.
	minMilestone = 1000
)

// ranked is an event with the rank that it is about.
type ranked struct {
	event
	rank int64
	user string // displaced from the first ranks; empty: the event is another
}

// notable returns the events that matter among the changes of a state: users who
// overtook others, entered or left the first ranks, fell, or passed a milestone. before
// holds the rows before the changes.
func (pane *boardPane) notable(before []row, changes []change) []event {
	var all []ranked
	shown := func(user, displayName string) string {
		return name(client.Entry{UserID: user, DisplayName: displayName}, pane.theme.ascii)
	}
	add := func(k kind, rank int64, key, format string, args ...any) {
		e := event{at: pane.eventTime(), kind: k, key: key, text: fmt.Sprintf(format, args...)}
		all = append(all, ranked{e, rank, ""})
	}
	short := len(before) <= notableRanks && len(pane.board.rows) <= notableRanks
	for _, c := range changes {
		user := shown(c.user, c.name)
		fewer := c.scoreMoved && c.score < c.previousScore != pane.lowestFirst()
		switch {
		case c.left && c.among == 0:
			if c.previousRank <= notableRanks {
				add(lost, c.previousRank, "left "+c.user, "%s left the board, was #%d", user, c.previousRank)
			}
		case c.left && c.previousRank <= notableRanks:
			add(lost, c.previousRank, "left "+c.user, "%s left the top %d, was #%d", user, notableRanks, c.previousRank)
			all[len(all)-1].user = user
		case c.left || c.rank > notableRanks && (c.appeared || c.previousRank > notableRanks):
		case c.appeared:
			add(entered, c.rank, "entered "+c.user, "%s entered at #%d", user, c.rank)
		case fewer && c.rank > c.previousRank:
			add(lost, c.previousRank, "fell "+c.user, "%s fell from #%d to #%d, %s", user, c.previousRank, c.rank,
				signed(c.score-c.previousScore))
		case c.rank > notableRanks && !short:
			add(lost, c.previousRank, "left "+c.user, "%s left the top %d, was #%d", user, notableRanks, c.previousRank)
			all[len(all)-1].user = user
		case c.previousRank > notableRanks:
			add(entered, c.rank, "entered "+c.user, "%s entered the top %d at #%d", user, notableRanks, c.rank)
		case c.scoreMoved && !fewer && c.rank < c.previousRank && c.rank <= notableOvertakes:
			pane.overtook(before, c, func(other row, more int) {
				key := strings.Join([]string{min(c.user, other.UserID), max(c.user, other.UserID)}, " ")
				than := shown(other.UserID, other.DisplayName)
				switch {
				case c.rank == 1:
					add(gained, c.rank, key, "%s takes the lead from %s", user, than)
				case more > 0:
					add(gained, c.rank, key, "%s overtook %s and %d more for #%d", user, than, more, c.rank)
				default:
					add(gained, c.rank, key, "%s overtook %s for #%d", user, than, c.rank)
				}
			})
		case passed(c.previousScore, c.score) > 0:
			add(milestone, c.rank, "", "%s passed %s", user, grouped(passed(c.previousScore, c.score)))
		}
	}
	all = joined(all)
	slices.SortStableFunc(all, func(a, b ranked) int { return cmp.Compare(a.rank, b.rank) })
	events := make([]event, 0, maxNotable)
	for _, e := range all[:min(len(all), maxNotable)] {
		events = append(events, e.event)
	}
	slices.Reverse(events) // the best rank is the newest, on top
	return events
}

// joined makes one event of a user who entered the first ranks and the one displaced by
// that.
func joined(all []ranked) []ranked {
	in := slices.IndexFunc(all, func(e ranked) bool { return e.kind == entered })
	out := slices.IndexFunc(all, func(e ranked) bool { return e.user != "" })
	if in < 0 || out < 0 {
		return all
	}
	all[in].text += ", " + all[out].user + " left"
	return slices.Delete(all, out, out+1)
}

// overtook calls report with the best user that c overtook, and the number of others.
func (pane *boardPane) overtook(before []row, c change, report func(other row, more int)) {
	var best *row
	others := 0
	for i := range before {
		other := &before[i]
		if other.Rank < c.rank || other.Rank >= c.previousRank {
			continue
		}
		if at := pane.board.find(other.UserID); at < 0 || pane.board.rows[at].Rank < c.rank {
			continue // gone, or still ahead
		}
		if best == nil {
			best = other
		} else {
			others++
		}
	}
	if best != nil {
		report(*best, others)
	}
}

// passed returns the largest milestone between two scores, or 0. Milestones are 1, 2.5
// and 5 times a power of ten.
func passed(before, after int64) (milestone int64) {
	for power := int64(minMilestone); power <= after; power *= 10 {
		for _, s := range []int64{power, power / 2 * 5, power * 5} {
			if before < s && s <= after {
				milestone = s
			}
		}
	}
	return milestone
}

// lines returns the newest events, newest first.
func (f *activity) lines(th *theme, height, width int) []string {
	marks := map[kind]string{
		gained: th.up.paint(th.upMark), entered: th.added.paint("+"), lost: th.down.paint(th.downMark),
		milestone: th.gold.paint(th.star), flagged: th.problem.paint(th.flag), told: th.dim.paint(th.info),
	}
	var lines []string
	for i := len(f.events) - 1; i >= 0 && len(lines) < height; i-- {
		e := &f.events[i]
		text, times := e.text, ""
		if th.ascii && !isASCII(text) {
			text = toASCII(text)
		}
		if e.times > 1 {
			times = fmt.Sprintf(" x%d", e.times)
			if !th.ascii {
				times = fmt.Sprintf(" ×%d", e.times)
			}
		}
		at := e.at.Format(time.TimeOnly) + " "
		if width < 56 {
			at = ""
		}
		room := max(width-len(at)-2, 8)
		wrapped := strings.Split(ansi.Wrap(text+times, room, ""), "\n")
		if len(wrapped) > maxEventLines {
			wrapped[maxEventLines-1] = fit(strings.Join(wrapped[maxEventLines-1:], " "), room, th.more)
			wrapped = wrapped[:maxEventLines]
		}
		lines = append(lines, th.dim.paint(at)+marks[e.kind]+" "+wrapped[0])
		for _, rest := range wrapped[1:] {
			lines = append(lines, strings.Repeat(" ", len(at)+2)+rest)
		}
	}
	return lines[:min(len(lines), height)]
}
