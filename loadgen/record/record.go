package record

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Kind is what a hit was.
type Kind uint8

// The kinds of hits. All but reads are increments, and what must answer them
// differs.
const (
	Increment Kind = iota
	Repeat         // of an increment sent before: must not count again
	Conflict       // the event id of another increment: must be refused
	Forged         // a signature that does not hold: must be refused
	Read
	Kinds int = iota
)

func (k Kind) String() string {
	return [...]string{"increment", "repeat", "conflict", "forged", "read"}[k]
}

// Hit is one request and its answer. Times are kept in microseconds.
type Hit struct {
	Kind    Kind
	N       int           // increments in it: 1, or those of a batch
	Due     time.Duration // from the beginning of the run
	Late    time.Duration // from when due to sent
	Service time.Duration // from sent to answered
	Status  int           // of HTTP, 0 without an answer
	// Problem says what was wrong with the answer; empty where it was the one
	// that had to come.
	Problem string
}

// Sample is how long a committed increment took to be seen in a place.
type Sample struct {
	Where string        `json:"where"` // "redis" or "client"
	At    time.Duration `json:"at"`
	Took  time.Duration `json:"took"`
}

// Tick is how the server was at a moment.
type Tick struct {
	At          time.Duration `json:"at"`
	OutboxDepth int64         `json:"outbox_depth"`
	Lag         int64         `json:"lag"`       // records that the projection has not consumed
	OldestMS    int64         `json:"oldest_ms"` // of what waits in the outbox
}

// Header says what was run, where.
type Header struct {
	Format     int            `json:"format"`
	Began      time.Time      `json:"began"`
	Profile    string         `json:"profile"` // of the acceptance, empty for a plain load
	Scaled     bool           `json:"scaled"`
	Checks     []Check        `json:"checks"`
	Parameters map[string]any `json:"parameters"`
	Machine    Machine        `json:"machine"`
	// Asked is how many requests fall due in each second of the plan.
	Asked    []uint64      `json:"asked"`
	Duration time.Duration `json:"duration"`
	Shard    Shard         `json:"shard,omitzero"`
}

// Shard is which part of a run several generators share: 2 of 5. The zero value
// is all of it.
type Shard struct {
	No int `json:"no"` // from 1
	Of int `json:"of"`
}

// ParseShard reads "2/5".
func ParseShard(text string) (s Shard, err error) {
	no, of, found := strings.Cut(text, "/")
	if found {
		s.No, err = strconv.Atoi(no)
	}
	if found && err == nil {
		s.Of, err = strconv.Atoi(of)
	}
	const most = 1000
	if !found || err != nil || s.No < 1 || s.No > s.Of || s.Of > most {
		return Shard{}, fmt.Errorf("a shard is written as 2/5, not %q", text)
	}
	return s, nil
}

func (s Shard) String() string { return fmt.Sprintf("%d/%d", s.No, s.Of) }

// Check is a criterion as it stood when the run began, after scaling.
type Check struct {
	Text   string `json:"text"`
	Source string `json:"source"`
}

// Machine is what the generator ran on.
type Machine struct {
	Host    string `json:"host"`
	OS      string `json:"os"`
	CPU     string `json:"cpu"`
	Cores   int    `json:"cores"`
	Go      string `json:"go"`
	Version string `json:"version"`
	Commit  string `json:"commit"`
}

// Ending is what the run came to.
type Ending struct {
	Lasted time.Duration `json:"lasted"` // how much of the plan was played
	Cut    bool          `json:"cut"`    // ended before its time
	// Measured is what was found out beside the hits, by the names of criteria.
	Measured Measured `json:"measured,omitempty"`
	// Skipped are criteria that nobody asked to be measured, with the reason.
	Skipped map[string]string `json:"skipped,omitempty"`
	Notes   []string          `json:"notes,omitempty"`
}

// Measured holds what was measured: rates a second, percents, counts, and times
// in milliseconds. What is not in it was not measured.
type Measured map[string]float64

// Worst keeps the lower one.
func (m Measured) Worst(name string, v float64) {
	if old, there := m[name]; !there || v < old {
		m[name] = v
	}
}

// format is the version of the file.
const format = 1
