package record

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Kind is the kind of a hit.
type Kind uint8

// The kinds of hits. All but reads are increments, with different required
// responses.
const (
	Increment Kind = iota
	Repeat         // of an earlier increment: must not count again
	Conflict       // with the event id of another increment: must be rejected
	Forged         // with an invalid signature: must be rejected
	Read
	Kinds int = iota
)

func (k Kind) String() string {
	return [...]string{"increment", "repeat", "conflict", "forged", "read"}[k]
}

// Hit is a request and its response. Times are stored in microseconds.
type Hit struct {
	Kind      Kind
	N         int           // number of increments
	Scheduled time.Duration // since the start of the run
	Late      time.Duration // from the scheduled time to sending
	Service   time.Duration // from sending to the response
	Status    int           // of HTTP; 0 without a response
	// Problem describes a wrong response; it is empty for the required one.
	Problem string
}

// Sample is the time from the commit of an increment until it is visible.
type Sample struct {
	Where string        `json:"where"` // "redis" or "client"
	At    time.Duration `json:"at"`
	Took  time.Duration `json:"took"`
}

// Tick is the state of the server at a time.
type Tick struct {
	At          time.Duration `json:"at"`
	OutboxDepth int64         `json:"outbox_depth"`
	Lag         int64         `json:"lag"`       // records that the projection has not consumed
	OldestMS    int64         `json:"oldest_ms"` // age of the oldest row in the outbox
}

// Header describes a run.
type Header struct {
	Format     int            `json:"format"`
	Began      time.Time      `json:"began"`
	Profile    string         `json:"profile"` // of an acceptance run; empty for a load
	Scaled     bool           `json:"scaled"`
	Checks     []Check        `json:"checks"`
	Parameters map[string]any `json:"parameters"`
	Machine    Machine        `json:"machine"`
	// Scheduled is the number of requests in each second of the plan.
	Scheduled []uint64      `json:"scheduled"`
	Duration  time.Duration `json:"duration"`
	Shard     Shard         `json:"shard,omitzero"`
	// Prefix begins the ids of all users of the run, and of no other run.
	Prefix string `json:"prefix"`
}

// Shard is one part of a run that several generators share, such as 2 of 5. The
// zero value is the whole run.
type Shard struct {
	No int `json:"no"` // from 1
	Of int `json:"of"`
}

// ParseShard parses "2/5".
func ParseShard(text string) (s Shard, err error) {
	no, of, found := strings.Cut(text, "/")
	if found {
		s.No, err = strconv.Atoi(no)
	}
	if found && err == nil {
		s.Of, err = strconv.Atoi(of)
	}
	const maxShards = 1000
	if !found || err != nil || s.No < 1 || s.No > s.Of || s.Of > maxShards {
		return Shard{}, fmt.Errorf("invalid shard %q: write it as 2/5", text)
	}
	return s, nil
}

func (s Shard) String() string { return fmt.Sprintf("%d/%d", s.No, s.Of) }

// Check is a criterion, after scaling.
type Check struct {
	Text   string `json:"text"`
	Source string `json:"source"`
}

// Machine is the machine of the generator.
type Machine struct {
	Host    string `json:"host"`
	OS      string `json:"os"`
	CPU     string `json:"cpu"`
	Cores   int    `json:"cores"`
	Go      string `json:"go"`
	Version string `json:"version"`
	Commit  string `json:"commit"`
	// Capacity is what the machine can give at all; absent if it was not measured.
	Capacity *Capacity `json:"capacity,omitempty"`
}

// Capacity is what a machine can give without scoreboard, per second.
type Capacity struct {
	HTTP         float64 `json:"http_per_second"`                   // requests to a server that does nothing
	Transactions float64 `json:"transactions_per_second,omitempty"` // of specification A; 0: not measured
}

// Increments is the highest rate of increments that the machine can give, per second.
func (c *Capacity) Increments() float64 {
	if c.Transactions > 0 {
		return min(c.HTTP, c.Transactions)
	}
	return c.HTTP
}

// Ending is the end of a run.
type Ending struct {
	Lasted time.Duration `json:"lasted"` // how much of the plan was played
	Cut    bool          `json:"cut"`    // ended early
	// Measured holds the results that are not derived from hits, by the names of
	// criteria.
	Measured Measured `json:"measured,omitempty"`
	// Skipped holds criteria that were deliberately not measured, with the reason.
	Skipped map[string]string `json:"skipped,omitempty"`
	Notes   []string          `json:"notes,omitempty"`
}

// Measured holds results: rates per second, percentages, counts, and times in
// milliseconds. A missing name was not measured.
type Measured map[string]float64

// Worst keeps the lower value.
func (m Measured) Worst(name string, v float64) {
	if old, there := m[name]; !there || v < old {
		m[name] = v
	}
}

// format is the version of the file format.
const format = 1
