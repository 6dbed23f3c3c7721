package sizing

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/scoreboard/scoreboard/internal/english"
)

// Load is what an installation is for.
type Load struct {
	Users         int64         `json:"users"`
	Boards        int64         `json:"boards"`                   // on which a user has a score
	LeaguePlayers int64         `json:"league_players,omitempty"` // of leagues, in all periods that are kept
	UpdatesPerDay int64         `json:"updates_per_day"`
	Peak          float64       `json:"peak_factor"` // highest rate relative to the average
	Viewers       int64         `json:"viewers"`     // with an open stream, at the peak
	RetentionDays int64         `json:"retention_days"`
	Window        time.Duration `json:"-"` // the setting realtime.window
}

// The bounds of a load: an estimate beyond them would say nothing.
const (
	maxUsers     = 10_000_000_000
	maxBoards    = 10_000
	maxUpdates   = 100_000_000_000
	maxPeak      = 1000
	maxViewers   = 1_000_000_000
	maxRetention = 3650
)

// Check returns an error that names the first value out of bounds.
func (l *Load) Check() error {
	for _, v := range []struct {
		name             string
		value, low, high int64
	}{
		{"users", l.Users, 1, maxUsers},
		{"boards", l.Boards, 1, maxBoards},
		{"league-players", l.LeaguePlayers, 0, maxUsers},
		{"updates-per-day", l.UpdatesPerDay, 1, maxUpdates},
		{"viewers", l.Viewers, 0, maxViewers},
		{"retention-days", l.RetentionDays, 2, maxRetention},
	} {
		if v.value < v.low || v.value > v.high {
			return fmt.Errorf("%s must be %d to %d, not %d", v.name, v.low, v.high, v.value)
		}
	}
	if !(l.Peak >= 1 && l.Peak <= maxPeak) { // also not a number
		return fmt.Errorf("peak-factor must be 1 to %d, not %v", maxPeak, l.Peak)
	}
	if l.Window < 50*time.Millisecond || l.Window > time.Minute {
		return errors.New("window must be 50ms to 1m")
	}
	return nil
}

// Part is a role or a backend: a number of nodes of one size.
type Part struct {
	Name      string  `json:"part"`
	Nodes     int64   `json:"nodes"`
	VCPU      int64   `json:"vcpu"`       // of a node
	MemoryGiB float64 `json:"memory_gib"` // of a node
	DiskGiB   float64 `json:"disk_gib"`   // of a node
	Why       string  `json:"why"`        // what decides the number
}

// Amount is a quantity with its unit.
type Amount struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Unit  string  `json:"unit"`
}

// Price is a quantity of a month, for a price that the reader knows.
type Price struct {
	Item     string  `json:"item"`
	Quantity float64 `json:"quantity"`
	Unit     string  `json:"unit"`
}

// Plan is what a load needs.
type Plan struct {
	Load    Load     `json:"load"`
	Parts   []Part   `json:"parts"`
	Amounts []Amount `json:"amounts"`
	Prices  []Price  `json:"prices"`
	Day     []Period `json:"day"`
	Notes   []string `json:"notes"`
}

// The rules of an estimate. They are choices, not measurements.
const (
	busy       = 0.5 // share of the CPU at the peak: the rest is for pauses and a lost node
	nodeVCPU   = 4
	daemonGiB  = 2    // a daemon used 0.25 GiB at 10,000 increments/s
	laneShare  = 0.6  // of a lane's time
	redisBound = 32.0 // GiB in a shard: more takes long to copy to a replica
	replicas   = 3    // of Kafka
	kafkaDays  = 1    // the setting kafka.retention
	gib        = 1 << 30
	day        = 86_400
	monthDays  = 30
	minNodes   = 2  // one may fail, or be restarted
	partitions = 16 // the default of kafka.partitions
	outboxKept = 2  // hours: a partition and the one before
	measured   = 17_344
	connected  = 19_000
)

// sum collects a plan.
type sum struct {
	Plan
	average, peak float64 // increments a second
}

// Estimate returns what a load needs. The load must be valid.
func Estimate(load Load) *Plan {
	s := &sum{Plan: Plan{Load: load}}
	s.average = float64(load.UpdatesPerDay) / day
	s.peak = s.average * load.Peak
	s.amount("increments a second, on average", s.average, "/s")
	s.amount("increments a second, at the peak", s.peak, "/s")
	lanes := s.daemons()
	s.gateways()
	s.postgres()
	s.redis()
	s.kafka()
	s.network()
	s.Day = replayDay(s.average, load.Peak, lanes)
	s.prices()
	s.notes()
	return &s.Plan
}

func (s *sum) amount(name string, value float64, unit string) {
	s.Amounts = append(s.Amounts, Amount{name, value, unit})
}

// cores are the cores that a part has to have for a CPU time at a rate.
func cores(rate, micros float64) float64 { return rate * micros / 1e6 / busy }

func up(v float64) int64 { return int64(math.Ceil(v - 1e-9)) }

// daemons adds the roles of the write path, and returns how many lanes there are: one for each node.
func (s *sum) daemons() int64 {
	rest := 1 - relayShare.value() - projectorShare.value()
	byCPU := up(cores(s.peak, daemonCPU.value()*rest) / nodeVCPU)
	byLane := up(s.peak * perIncrement.value() / 1e6 / laneShare)
	api := Part{Name: "api", Nodes: max(byCPU, minNodes), VCPU: nodeVCPU, MemoryGiB: daemonGiB, Why: "CPU"}
	switch {
	case byLane > api.Nodes:
		api.Nodes, api.Why = byLane, "one lane of transactions for each node"
	case byCPU < minNodes:
		api.Why = spare
	}
	s.Parts = append(s.Parts, api)
	s.role("relay", cores(s.peak, daemonCPU.value()*relayShare.value()))
	s.role("projector", cores(s.peak, daemonCPU.value()*projectorShare.value()))
	s.role("maintenance", 0)
	return api.Nodes
}

const spare = "one may fail"

func (s *sum) role(name string, cores float64) {
	p := Part{Name: name, Nodes: up(cores / nodeVCPU), VCPU: nodeVCPU, MemoryGiB: daemonGiB, Why: "CPU"}
	if p.Nodes < minNodes {
		p.Nodes, p.Why = minNodes, spare
	}
	s.Parts = append(s.Parts, p)
}

// frames are the messages a second to all viewers, if every board changes in every window.
func (s *sum) frames() float64 { return float64(s.Load.Viewers) / s.Load.Window.Seconds() }

func (s *sum) gateways() {
	if s.Load.Viewers == 0 {
		return
	}
	p := Part{Name: "gateway", VCPU: nodeVCPU, Why: "CPU of messages"}
	p.Nodes = max(up(cores(s.frames(), deliveryCPU.value())/nodeVCPU), minNodes)
	if p.Nodes == minNodes {
		p.Why = spare
	}
	each := float64(s.Load.Viewers) / float64(p.Nodes) * connectionMemory.value() / gib
	p.MemoryGiB = daemonGiB + math.Ceil(2*each) // when a node is lost, others take its viewers
	s.Parts = append(s.Parts, p)
	s.amount("messages a second to viewers, at most", s.frames(), "/s")
}

func (s *sum) postgres() {
	l := &s.Load
	users := float64(l.Users) * (postgresUser.value() + float64(l.Boards)*postgresUserBoard.value()) / gib
	leagues := float64(l.LeaguePlayers) * leaguePlayer.value() / gib
	daily := float64(l.UpdatesPerDay) * ledgerRow.value() / gib
	outbox := s.peak * outboxKept * 3600 * outboxRow.value() / gib
	wal := float64(l.UpdatesPerDay) * walBytes.value() / gib
	s.amount("PostgreSQL: users, scores and standings", users, "GiB")
	if l.LeaguePlayers > 0 {
		s.amount("PostgreSQL: places and outcomes of leagues", leagues, "GiB")
	}
	s.amount("PostgreSQL: ledger, a day", daily, "GiB")
	s.amount("PostgreSQL: outbox, at the peak", outbox, "GiB")
	s.amount("PostgreSQL: WAL, a day", wal, "GiB")
	s.amount("PostgreSQL: WAL, at the peak", s.peak*walBytes.value()/(1<<20), "MiB/s")
	p := Part{Name: "PostgreSQL", Nodes: minNodes, Why: "a primary and a standby"}
	p.VCPU = even(cores(s.peak, postgresCPU.value()))
	p.MemoryGiB = float64(4 * p.VCPU)
	// A tenth for indexes that grow between two rebuilds, and an hour of WAL for a standby that is away.
	kept := users + leagues + daily*float64(l.RetentionDays)
	p.DiskGiB = math.Ceil(1.1*kept + outbox + s.peak*3600*walBytes.value()/gib)
	s.Parts = append(s.Parts, p)
}

// even is the next even number of cores, at least one node's.
func even(cores float64) int64 { return max(2*up(cores/2), nodeVCPU) }

func (s *sum) redis() {
	data := float64(s.Load.Users) * float64(s.Load.Boards) * redisUser.value() / gib
	s.amount("Redis: rankings", data, "GiB")
	byCPU, byMemory := up(cores(s.peak, redisCPU.value())), up(2*data/redisBound)
	shards := max(byCPU, byMemory, 1)
	p := Part{Name: "Redis", Nodes: 2 * shards, VCPU: 2, Why: "one shard"}
	switch {
	case shards == 1:
	case byCPU >= byMemory:
		p.Why = fmt.Sprintf("%d shards: one core each", shards)
	default:
		p.Why = fmt.Sprintf("%d shards of at most %g GiB", shards, redisBound)
	}
	p.Why += ", each with a replica"
	if s.Load.Boards < shards { // fewer whole boards than servers would leave some without any
		p.Why += "; boards in partitions"
	}
	p.MemoryGiB = math.Ceil(max(2*data/float64(shards), 1)) // a rebuild makes a ranking beside the live one
	s.Parts = append(s.Parts, p)
}

func (s *sum) kafka() {
	log := float64(s.Load.UpdatesPerDay) * kafkaDays * kafkaBytes.value() * replicas / gib
	perPartition := projection.value() / partitions * busy
	times := max(up(s.peak/perPartition/partitions), 1)
	s.amount("Kafka: partitions of the topic of changes", float64(partitions*times), "")
	s.amount("Kafka: logs of a day, three replicas", log, "GiB")
	p := Part{Name: "Kafka", Nodes: replicas, Why: "three replicas"}
	// A record is written once by each replica.
	p.VCPU = even(cores(s.peak, kafkaCPU.value()))
	p.MemoryGiB = float64(2 * p.VCPU)
	p.DiskGiB = math.Ceil(2 * max(log/replicas, 1)) // half of a disk free
	s.Parts = append(s.Parts, p)
}

func (s *sum) network() {
	const megabit = 8 / 1e6
	s.amount("network: requests, at the peak", s.peak*requestBytes.value()*megabit, "Mbit/s")
	s.amount("network: responses, at the peak", s.peak*responseBytes.value()*megabit, "Mbit/s")
	if s.Load.Viewers > 0 {
		s.amount("network: messages to viewers, at most", s.frames()*frameBytes.value()*megabit, "Mbit/s")
	}
}

func (s *sum) prices() {
	var vcpu, memory, disk float64
	for _, p := range s.Parts {
		n := float64(p.Nodes)
		vcpu, memory, disk = vcpu+n*float64(p.VCPU), memory+n*p.MemoryGiB, disk+n*p.DiskGiB
	}
	wal := float64(s.Load.UpdatesPerDay) * monthDays * walBytes.value() / gib
	out := float64(s.Load.UpdatesPerDay) * monthDays * responseBytes.value() / gib
	s.Prices = []Price{
		{"vCPU", vcpu, "a month"},
		{"memory", memory, "GiB a month"},
		{"disk (SSD)", disk, "GiB a month"},
		{"archived WAL", wal, "GiB written a month"},
		{"responses, outbound", out, "GiB a month"},
	}
	if s.Load.Viewers > 0 {
		s.Prices = append(s.Prices, Price{
			"messages, outbound, for each hour with all viewers", s.frames() * 3600 * frameBytes.value() / gib, "GiB",
		})
	}
}

func (s *sum) notes() {
	note := func(when bool, format string, args ...any) {
		if when {
			s.Notes = append(s.Notes, fmt.Sprintf(format, args...))
		}
	}
	note(true, "Computed, not run: nodes are sized for %g %% of their CPU at the peak, by the CPU times of a slow day.",
		100*busy)
	note(s.peak > measured, "One PostgreSQL was measured up to %s increments/s, on two cores shared with everything; "+
		"beyond that it is extrapolated by its CPU time.", english.Grouped(measured))
	note(s.Load.Viewers > 0, "A node was measured with up to %s viewers, the limit of open files there.",
		english.Grouped(connected))
	note(s.Load.Viewers > 0,
		"Messages assume that the rows of every board change in every window of %s.", s.Load.Window)
	note(true, "The simulated day knows the transactions, not what else waits for a CPU that is busy.")
	note(true, "Memory of PostgreSQL (4 GiB per vCPU) and Kafka (2 GiB per vCPU) are rules, not measurements.")
}
