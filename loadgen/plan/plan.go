package plan

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/loadgen/record"
)

// Mode is how increments are sent.
type Mode string

// The modes.
const (
	Sync  Mode = "sync"
	Async Mode = "async" // the server answers 202
	Batch Mode = "batch" // many increments in one request
)

// The dialects, by the names of the setting dialects.
const (
	Highscore = "highscore"
	Delta     = "delta"
	Module    = "module"
	Plain     = "plain"
)

// Dialects are the names of all dialects.
var Dialects = []string{Highscore, Delta, Module, Plain}

// OwnTokens reports whether a request names its user by the token alone.
func (p *Plan) OwnTokens() bool { return p.Dialect == Highscore || p.Dialect == Plain }

// NeedsAction reports whether each write needs an action token.
func (p *Plan) NeedsAction() bool { return p.Dialect == Highscore }

// KeepsBest reports whether a user's score is the highest one that was submitted, not
// their sum.
func (p *Plan) KeepsBest() bool { return p.Dialect == Highscore || p.Dialect == Plain }

// RecordsAll reports whether the ledger has every event that was acknowledged. The dialect
// plain records scores only that are higher than the user's.
func (p *Plan) RecordsAll() bool { return p.Dialect != Plain }

// maxDialectUsers bounds the users whose tokens are minted before a run.
const maxDialectUsers = 100_000

func (p *Plan) validateDialect() error {
	switch {
	case p.Dialect == "":
		return nil
	case !slices.Contains(Dialects, p.Dialect):
		return fmt.Errorf("the dialect must be one of %s, not %q", strings.Join(Dialects, ", "), p.Dialect)
	case p.Mode != Sync || len(p.Boards) > 0:
		return errors.New("a dialect has one board and the mode sync")
	case p.Conflicts > 0 || p.Forged > 0:
		return errors.New("a dialect has no signatures to forge, and answers conflicts in its own way")
	case p.Dialect == Module && p.Reads > 0:
		return errors.New("the dialect module has no reads")
	case p.OwnTokens() && p.Users > maxDialectUsers:
		return fmt.Errorf("the dialect %s needs a token of each user: at most %d users, not %d",
			p.Dialect, maxDialectUsers, p.Users)
	}
	return nil
}

// Plan is the load of a run.
type Plan struct {
	Schedule Schedule // of increments, including repeats and forged ones
	Users    int
	// Skew is the exponent of the Zipf distribution that users are drawn from,
	// above 1; 0 draws all users with the same probability.
	Skew   float64
	Seed   uint64
	Prefix string // of user ids; runs with different prefixes share no user
	// Boards are the boards to play on; each user plays on one of them. Empty
	// means the default board.
	Boards    []string
	Mode      Mode
	BatchSize int
	// Dialect is the API to send increments and reads through; "" is the native one.
	Dialect string
	// Connections is the maximum number of requests in flight. Once all of them
	// are waiting, the generator falls behind, and the report shows it.
	Connections int

	Reads                      float64 // per increment
	Repeats, Conflicts, Forged float64 // shares of the increments
	Parallel                   float64 // share of increments that are repeated at the same time
	Cut                        float64 // share of writes whose response is not awaited
}

// Limits of a plan.
const (
	maxUsers  = 10_000_000
	maxReads  = 1000
	maxSkew   = 100 // far below, all draws give the first user
	maxBoards = 100
	// DefaultConnections are enough for 10,000 requests per second of 100 ms each.
	DefaultConnections = 1024
	maxConnections     = 20_000
)

// Validate checks the plan's values.
func (p *Plan) Validate() error {
	switch {
	case p.Schedule.Duration() <= 0:
		return errors.New("a plan needs a rate")
	case p.Users < 1 || p.Users > maxUsers:
		return fmt.Errorf("the number of users must be between 1 and %d, not %d", maxUsers, p.Users)
	// The conditions below are negated because NaN is neither above nor below a limit.
	case p.Skew != 0 && !(p.Skew > 1 && p.Skew <= maxSkew):
		return fmt.Errorf("the skew must be 0, or above 1 and at most %d, not %v", maxSkew, p.Skew)
	case !(p.Reads >= 0 && p.Reads <= maxReads):
		return fmt.Errorf("the reads per increment must be between 0 and %d, not %v", maxReads, p.Reads)
	case !p.validShares():
		return errors.New(
			"the shares of repeats, conflicts and forged increments must be at least 0, and at most 0.9 in total",
		)
	case len(p.Boards) > maxBoards:
		return fmt.Errorf("at most %d boards are allowed, not %d", maxBoards, len(p.Boards))
	case p.Connections < 1 || p.Connections > maxConnections:
		return fmt.Errorf("the number of connections must be between 1 and %d, not %d", maxConnections, p.Connections)
	case p.Mode != Sync && p.Mode != Async && p.Mode != Batch:
		return fmt.Errorf("the mode must be sync, async or batch, not %q", p.Mode)
	case p.Mode == Batch && (p.BatchSize < 1 || p.BatchSize > wire.MaxBatch):
		return fmt.Errorf("the batch size must be between 1 and %d, not %d", wire.MaxBatch, p.BatchSize)
	case p.Mode == Batch && p.Forged > 0:
		return errors.New("forged increments are not possible in batch mode: a batch has one signature")
	}
	return p.validateDialect()
}

func (p *Plan) validShares() bool {
	return min(p.Repeats, p.Conflicts, p.Forged, p.Parallel, p.Cut) >= 0 &&
		p.Repeats+p.Conflicts+p.Forged+p.Parallel <= 0.9 && p.Cut <= 0.9
}

// Part is the plan of one of several generators: its share of the rate, with
// users of its own, so that it knows their expected scores without the others.
func (p Plan) Part(s record.Shard) Plan {
	p.Schedule = p.Schedule.Scale(1 / float64(s.Of))
	p.Users = max(p.Users/s.Of, 1)
	p.Seed += uint64(s.No)
	p.Prefix = fmt.Sprintf("%ss%d-", p.Prefix, s.No)
	return p
}

// IsCut reports whether the response to request n is not awaited.
func (p *Plan) IsCut(n uint64) bool {
	if p.Cut == 0 {
		return false
	}
	if _, write := p.Write(n); !write {
		return false
	}
	const steps = 1 << 20
	return float64(mix(mix(p.Seed)^n)%steps) < p.Cut*steps
}

// perWrite is the number of increments in a write.
func (p *Plan) perWrite() int {
	if p.Mode == Batch {
		return p.BatchSize
	}
	return 1
}

// Requests is the schedule of all requests, reads included.
func (p *Plan) Requests() Schedule {
	return p.Schedule.Scale(1/float64(p.perWrite()) + p.Reads)
}

// Write returns the number of the write that request n is, or false for a read.
// Writes and reads are spread evenly over the run.
func (p *Plan) Write(n uint64) (number uint64, write bool) {
	share := 1 / (1 + p.Reads*float64(p.perWrite()))
	before, after := math.Floor(float64(n)*share), math.Floor(float64(n+1)*share)
	return uint64(before), after > before
}

// UserID is the id of a user.
func (p *Plan) UserID(user uint64) string { return string(p.AppendUserID(nil, user)) }

// AppendUserID appends the id of a user. The number is padded to seven digits,
// so that ids sort.
func (p *Plan) AppendUserID(b []byte, user uint64) []byte {
	b = append(append(b, p.Prefix...), "user-"...)
	for limit := uint64(1_000_000); user < limit && limit > 1; limit /= 10 {
		b = append(b, '0')
	}
	return strconv.AppendUint(b, user, 10)
}

// Board is the board that a user plays on, or "" for the default board.
func (p *Plan) Board(user uint64) string {
	if len(p.Boards) == 0 {
		return ""
	}
	return p.Boards[user%uint64(len(p.Boards))]
}
