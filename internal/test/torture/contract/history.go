package contract

import (
	"fmt"
	"sync"
	"time"
)

// Event is one increment with all attempts at it. Its outcome is known once
// Done or Rejected is set; until then it may or may not be recorded.
type Event struct {
	Increment
	Async    bool
	Invoked  time.Duration // since the start of the run: the first attempt
	Returned time.Duration // when the outcome was first known
	Attempts int
	LookUps  int       // of an accepted event
	Receipts []Receipt // of the first answer that had them
	Rejected string    // the code of a final rejection
	Accepted bool      // some attempt was answered 202
	Maybe    bool      // some attempt ended without an answer that settles it
}

// Settled says whether the outcome is known.
func (e *Event) Settled() bool { return e.Receipts != nil || e.Rejected != "" }

// Read is one read of a user's standing or of a board's head.
type Read struct {
	At, Until time.Duration
	Wall      time.Time // when the answer had come
	Node      int
	Board     string
	User      string // empty: the head
	Score     int64
	Found     bool
	MinimumOf int64 // the version that was waited for
	State
	Entries []Entry
}

// Violation is something that the contract forbids.
type Violation struct {
	Rule string
	User string // whose story explains it; may be empty
	Text string
}

func (v Violation) String() string { return v.Rule + ": " + v.Text }

// Log collects events, reads, operators' changes, faults and violations.
type Log struct {
	start time.Time

	mu         sync.Mutex
	events     []*Event
	reads      []Read
	notes      []Note
	violations []Violation
}

// Note is a line for the story: a fault, or a change by an operator.
type Note struct {
	At   time.Duration
	User string // empty: concerns all
	Text string
}

// NewLog starts a log.
func NewLog() *Log { return &Log{start: time.Now()} }

// Now is the time since the start.
func (l *Log) Now() time.Duration { return time.Since(l.start) }

// Wall is the clock time of a moment since the start.
func (l *Log) Wall(at time.Duration) time.Time { return l.start.Add(at) }

// Begin notes an increment before its first attempt.
func (l *Log) Begin(in Increment, async bool) *Event {
	e := &Event{Increment: in, Async: async, Invoked: l.Now()}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.events = append(l.events, e)
	return e
}

// Read notes a read.
func (l *Log) Read(r Read) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.reads = append(l.reads, r)
}

// Note adds a line to the story.
func (l *Log) Note(user, format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.notes = append(l.notes, Note{l.Now(), user, fmt.Sprintf(format, args...)})
}

// Violate notes a violation.
func (l *Log) Violate(rule, user, format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.violations = append(l.violations, Violation{rule, user, fmt.Sprintf(format, args...)})
}

// Events returns all events. Call it when the clients have ended.
func (l *Log) Events() []*Event { return l.events }

// Reads returns all reads. Call it when the clients have ended.
func (l *Log) Reads() []Read { return l.reads }

// Notes returns the notes in the order of time.
func (l *Log) Notes() []Note {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]Note(nil), l.notes...)
}

// Violations returns what was found so far.
func (l *Log) Violations() []Violation {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]Violation(nil), l.violations...)
}
