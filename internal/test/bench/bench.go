package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// Options configure a bench.
type Options struct {
	Out io.Writer // for figures, as Markdown
	Err io.Writer // for the messages of child processes
	// Bin is the folder of the programs scoreboardd and sbctl, and Self the program
	// scorebench, which some benches start as another process.
	Bin, Self string
	// Quick uses tiny sizes, which show that the bench works. Its figures mean
	// nothing.
	Quick bool
	// Backends are used instead of starting new ones; see StartBackends.
	Backends *Backends

	Users      int              // of Read
	Boards     int              // of Read
	Duration   time.Duration    // of each measurement of Read and Partitions
	Scale      float64          // of Pipeline and PastBoards, up to 1
	Picture    string           // file for the curves of Scale
	Lines      int              // of CLI
	Runs       int              // of CLI
	Peer       PeerOptions      // of Peer
	Partitions PartitionOptions // of Partitions
	Args       []string         // further arguments of sbctl accept, of Accept and Chaos
}

func (o *Options) printf(format string, args ...any) { fmt.Fprintf(o.Out, format, args...) }
func (o *Options) println(args ...any)               { fmt.Fprintln(o.Out, args...) }

func (o *Options) program(name string) string { return filepath.Join(o.Bin, name) }

// sizes are the durations and rates of the benches.
type sizes struct {
	warm, timed   time.Duration
	parallel      time.Duration // load during another measurement
	latency, idle time.Duration
	store         time.Duration
	flood         time.Duration
	generator     time.Duration
	maxRate       time.Duration
	settle        time.Duration // for the runtime to return memory
	fill          time.Duration // of a step that fills the ledger
	ledgerRows    int64
	fillRate      int
	openRates     []int
	connections   []int
	scaleUsers    []int // of a board, in Scale
	scaleBoards   []int
	scaleRows     []int // of the ledger
	bodyRate      int   // signed bodies per second of a closed loop
	lagRate       int
	backlogRate   int
	goodRate      int
	floodRate     int
	generatorRate float64 // factor
}

func (o *Options) sizes() sizes {
	if o.Quick {
		return sizes{
			warm:          time.Second,
			timed:         time.Second,
			parallel:      time.Second,
			latency:       time.Second,
			idle:          time.Second / 2,
			store:         2 * time.Second, // at least one call must end
			flood:         time.Second,
			generator:     time.Second,
			maxRate:       time.Second,
			settle:        time.Second,
			fill:          time.Second,
			ledgerRows:    2000,
			fillRate:      1000,
			openRates:     []int{200},
			connections:   []int{1, 8},
			scaleUsers:    []int{10, 100},
			scaleBoards:   []int{1, 10},
			scaleRows:     []int{5000},
			bodyRate:      10_000,
			lagRate:       200,
			backlogRate:   200,
			goodRate:      100,
			floodRate:     200,
			generatorRate: 0.05,
		}
	}
	return sizes{
		warm: time.Minute, timed: 15 * time.Second, parallel: 20 * time.Second,
		latency: 20 * time.Second, idle: 20 * time.Second, store: 10 * time.Second, flood: 20 * time.Second,
		generator: 10 * time.Second, maxRate: 2 * time.Minute, settle: 20 * time.Second,
		fill: 50 * time.Second, ledgerRows: 10_000_000, fillRate: 20_000,
		openRates: []int{1000, 2000, 4000, 6000, 8000, 10_000, 12_000}, connections: []int{1, 64, 256},
		scaleUsers: []int{1000, 10_000, 100_000, 1_000_000}, scaleBoards: []int{1, 100, 1000, 20_000},
		scaleRows: []int{1_000_000, 3_000_000, 10_000_000},
		bodyRate:  40_000, lagRate: 5000, backlogRate: 4000, goodRate: 1000, floodRate: 5000, generatorRate: 1,
	}
}

// The users of write benches, and the exponent of their Zipf distribution.
const (
	users = 10_000
	skew  = 1.1
)

// Header prints the name of a bench, the commit and the machine.
func Header(ctx context.Context, w io.Writer, name string) {
	fmt.Fprintf(w, "## %s: commit %s, %s, %d cores, %s, %s\n\n", name, commit(ctx), cpuModel(), runtime.NumCPU(),
		runtime.Version(), time.Now().UTC().Format("2006-01-02 15:04 UTC"))
}

func commit(ctx context.Context) string {
	out, err := exec.CommandContext(ctx, "git", "describe", "--always", "--dirty").Output()
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(out))
}

func cpuModel() string {
	info, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return runtime.GOARCH
	}
	for line := range strings.Lines(string(info)) {
		if name, model, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(model)
		}
	}
	return runtime.GOARCH
}
