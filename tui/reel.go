package tui

import (
	"context"
	"slices"
	"time"

	"github.com/scoreboard/scoreboard/client"
)

// Playback is the past of a board, played back instead of the live board.
type Playback struct {
	Board    string
	From, To time.Time // zero: the whole period, or the last day
	Speed    float64   // seconds of the past in a second
	// Load reads a part of the past, from a time on.
	Load func(ctx context.Context, from, to time.Time, step time.Duration) (client.Timeline, error)
}

// Step is the time between two steps of the parts that are loaded: at a high speed, shorter ones
// would not be seen.
func (r *Playback) Step() time.Duration {
	return max(time.Duration(r.Speed*float64(playbackTick)).Truncate(minStep), minStep)
}

const (
	// playbackTick is the time between two looks at what a playback shows, and with that the
	// shortest step that it needs.
	playbackTick = stateInterval
	minStep      = time.Second
	// prefetch is how long before it is shown a part is loaded.
	prefetch = 10 * time.Second
	// maxFrames bounds what is kept to step back to.
	maxFrames = 5000
)

// speeds are those that keys choose.
var speeds = []float64{1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 21_600, MaxSpeed}

// MaxSpeed is the largest speed of a playback: a day in a second.
const MaxSpeed = 86_400

// reel is the part of a playback that was loaded, and where it stands.
type reel struct {
	Playback
	board      string // as the server says
	start, end time.Time
	at         time.Time // the moment shown
	frames     []client.TimelineFrame
	next       time.Time // from where the next part is loaded; zero: all is
	begun      bool      // a part was loaded
	loading    bool
	playing    bool
	err        error // of the last attempt to load
}

func newReel(r Playback) *reel {
	return &reel{Playback: r, board: r.Board, next: r.From, playing: true}
}

// add adds a part that was loaded.
func (r *reel) add(f *client.Timeline) {
	if !r.begun {
		r.begun, r.board, r.start, r.end, r.at = true, f.Board, f.Start, f.End, f.Start
	}
	r.frames = append(r.frames, f.Frames...)
	if n := len(r.frames) - maxFrames; n > 0 {
		r.frames = slices.Delete(r.frames, 0, min(n, max(r.index(), 0)))
	}
	r.next = time.Time{}
	if f.NextFrom != nil {
		r.next = *f.NextFrom
	}
}

// loaded is up to when the past is known.
func (r *reel) loaded() time.Time {
	if r.next.IsZero() {
		return r.end
	}
	return r.next.Add(-time.Microsecond)
}

// wants reports whether the next part is needed, now or soon.
func (r *reel) wants() bool {
	if r.loading || r.err != nil || r.begun && r.next.IsZero() {
		return false
	}
	return !r.begun || r.loaded().Sub(r.at) < time.Duration(r.Speed*float64(prefetch))
}

// ended reports whether the last moment is shown.
func (r *reel) ended() bool { return r.begun && r.next.IsZero() && !r.at.Before(r.end) }

// advance lets time pass; the past waits for what is not loaded.
func (r *reel) advance(elapsed time.Duration) {
	if !r.playing || !r.begun {
		return
	}
	r.at = r.at.Add(time.Duration(float64(elapsed) * r.Speed))
	if latest := r.loaded(); r.at.After(latest) {
		r.at = latest
	}
	if r.ended() {
		r.playing = false
	}
}

// index is the frame that is shown; -1 without one.
func (r *reel) index() int {
	after, _ := slices.BinarySearchFunc(r.frames, r.at, func(f client.TimelineFrame, at time.Time) int {
		if f.At.After(at) {
			return 1
		}
		return -1
	})
	return after - 1
}

// turn goes to the next change, or with -1 to the one before.
func (r *reel) turn(by int) {
	i := r.index()
	switch {
	case i < 0:
	case by < 0 && r.at.After(r.frames[i].At):
		r.at = r.frames[i].At
	case by < 0 && i > 0:
		r.at = r.frames[i-1].At
	case by > 0 && i+1 < len(r.frames):
		r.at = r.frames[i+1].At
	case by > 0 && r.begun:
		r.at = r.loaded()
	}
}

// faster changes the speed to the next of those that keys choose.
func (r *reel) faster(by int) {
	i, found := slices.BinarySearch(speeds, r.Speed)
	if by > 0 && found {
		i++
	} else if by < 0 {
		i--
	}
	r.Speed = speeds[min(max(i, 0), len(speeds)-1)]
}

// rewind begins again.
func (r *reel) rewind() {
	*r = reel{
		Playback: r.Playback, board: r.board, next: r.start, playing: true, start: r.start, end: r.end, at: r.start,
	}
}
