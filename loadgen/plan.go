package loadgen

import (
	"errors"
	"fmt"
	"math"

	"github.com/scoreboard/scoreboard/loadgen/pace"
	"github.com/scoreboard/scoreboard/loadgen/record"
	"github.com/scoreboard/scoreboard/server/protocol"
)

// Mode is how increments are sent.
type Mode string

// The modes.
const (
	Sync  Mode = "sync"
	Async Mode = "async" // asks for a 202
	Batch Mode = "batch" // many in a request
)

// Plan says what a run plays.
type Plan struct {
	Pace  pace.Pace // increments, repeats and forgeries among them
	Users int
	// Skew is how uneven the users are: 0 draws all alike, above 1 it is the
	// exponent of a Zipf distribution.
	Skew   float64
	Seed   uint64 // of the draw
	Prefix string // of user ids; a run of its own has users of its own
	// Boards are those that are played on, a user on one of them; none is the
	// default board.
	Boards []string
	Mode   Mode
	Size   int // of a batch
	// Connections are the most requests in flight. With all of them waiting the
	// generator falls behind, and says so.
	Connections int

	Reads                      float64 // for each increment
	Repeats, Conflicts, Forged float64 // shares of the increments
	Parallel                   float64 // share of increments that are sent again in the same moment
	Cut                        float64 // share of writes whose answer is not waited for
}

// The bounds of a plan.
const (
	maxUsers  = 10_000_000
	maxReads  = 1000
	maxSkew   = 100 // all are the first user long before
	maxBoards = 100
	// DefaultConnections are enough for 10,000 a second that take 100 ms each.
	DefaultConnections = 1024
	maxConnections     = 20_000
)

// Check says what is wrong with a plan.
func (p *Plan) Check() error {
	switch {
	case p.Pace.Duration() <= 0:
		return errors.New("a plan needs a rate")
	case p.Users < 1:
		return errors.New("there must be at least one user")
	case p.Users > maxUsers:
		return fmt.Errorf("there may be %d users", maxUsers)
	// Each is asked for what it must be, for NaN is neither above nor below.
	case p.Skew != 0 && !(p.Skew > 1 && p.Skew <= maxSkew):
		return fmt.Errorf("the skew must be 0, or above 1 up to %d, not %v", maxSkew, p.Skew)
	case !(p.Reads >= 0 && p.Reads <= maxReads):
		return fmt.Errorf("the reads for each increment must be 0 to %d, not %v", maxReads, p.Reads)
	case !(min(p.Repeats, p.Conflicts, p.Forged, p.Parallel, p.Cut) >= 0 && p.Repeats+p.Conflicts+p.Forged+p.Parallel <= 0.9 && p.Cut <= 0.9):
		return errors.New("repeats, conflicts and forgeries are shares, at most 0.9 together")
	case len(p.Boards) > maxBoards:
		return fmt.Errorf("there may be %d boards", maxBoards)
	case p.Connections < 1 || p.Connections > maxConnections:
		return fmt.Errorf("there must be 1 to %d connections, not %d", maxConnections, p.Connections)
	case p.Mode != Sync && p.Mode != Async && p.Mode != Batch:
		return fmt.Errorf("the mode is sync, async or batch, not %q", p.Mode)
	case p.Mode == Batch && (p.Size < 1 || p.Size > protocol.MaxBatch):
		return fmt.Errorf("a batch has 1 to %d increments, not %d", protocol.MaxBatch, p.Size)
	case p.Mode == Batch && p.Forged > 0:
		return errors.New("a batch is signed as a whole: it has no forged increments")
	}
	return nil
}

// part is what one of several generators plays: its share of the rate, with
// users of its own, so that it alone knows what they must have.
func (p Plan) part(s record.Shard) Plan {
	p.Pace = p.Pace.Times(1 / float64(s.Of))
	p.Users = max(p.Users/s.Of, 1)
	p.Seed += uint64(s.No)
	p.Prefix = fmt.Sprintf("%ss%d-", p.Prefix, s.No)
	return p
}

// cuts says whether the answer of request n is not waited for.
func (p *Plan) cuts(n uint64) bool {
	if p.Cut == 0 {
		return false
	}
	if _, write := p.write(n); !write {
		return false
	}
	const steps = 1 << 20
	return float64(mix(mix(p.Seed)^n)%steps) < p.Cut*steps
}

// perWrite is how many increments a write carries.
func (p *Plan) perWrite() int {
	if p.Mode == Batch {
		return p.Size
	}
	return 1
}

// requests is when requests are due, reads among them.
func (p *Plan) requests() pace.Pace {
	return p.Pace.Times(1/float64(p.perWrite()) + p.Reads)
}

// write says which write the request n is; a read is none. Writes and reads
// are spread evenly, so that neither comes in a burst.
func (p *Plan) write(n uint64) (number uint64, write bool) {
	share := 1 / (1 + p.Reads*float64(p.perWrite()))
	before, after := math.Floor(float64(n)*share), math.Floor(float64(n+1)*share)
	return uint64(before), after > before
}
