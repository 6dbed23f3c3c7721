package health

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// reportFor is how long a report of another node counts, from when it was seen.
const reportFor = 10 * time.Second

// peers is what the other nodes report, and since when backends fail here. It compares no
// clocks: whether a report is newer than a failure is known from its sequence.
//
// A node leaves the service for another one only if that one serves what this one serves
// and reaches what this one reaches, and more. So nodes never leave for each other in a
// circle, and one of them always stays.
type peers struct {
	node  string
	roles []string // that serve requests
	now   func() time.Time

	mu    sync.Mutex
	known map[source]peer
	// failing has, for each backend that does not answer here, the sequence of each report
	// that was seen first since then. It may be older than the failure, and the next one may
	// have been begun before it; the one after that was not.
	failing map[string]map[source]int64
}

// source is where a report was read: a node may write to one store and not to the other.
type source struct{ store, node string }

// peer is the last report of a node, and when it was new.
type peer struct {
	scoreboard.NodeReport
	seen time.Time
}

func newPeers(node string, roles []string) *peers {
	return &peers{
		node: node, roles: roles, now: time.Now,
		known: make(map[source]peer), failing: make(map[string]map[source]int64),
	}
}

// newerReports is how much greater the sequence of a report is that was begun after the
// first one that was seen.
const newerReports = 2

// answered says which backends answer here. What is known about their failures ends at once.
func (p *peers) answered(backends []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, backend := range backends {
		delete(p.failing, backend)
	}
}

// fail says which backends do not answer here, before reports are read.
func (p *peers) fail(backends []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, backend := range backends {
		if p.failing[backend] == nil {
			p.failing[backend] = make(map[source]int64)
		}
	}
}

// note keeps the reports of others that were read from a store.
func (p *peers) note(store string, reports []scoreboard.NodeReport) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	maps.DeleteFunc(p.known, func(_ source, known peer) bool { return now.Sub(known.seen) > reportTTL })
	for i := range reports {
		r := &reports[i]
		if r.Node == p.node {
			continue
		}
		from := source{store, r.Node}
		if known, ok := p.known[from]; !ok || r.Sequence > known.Sequence {
			p.known[from] = peer{*r, now}
		}
		for _, first := range p.failing {
			if _, ok := first[from]; !ok {
				first[from] = r.Sequence
			}
		}
	}
}

// takesOver returns a node that can take the requests of this one, which reaches backends:
// since before, it also reaches one that fails here. It is "" if there is none.
func (p *peers) takesOver(reaches, failing []string) (node, backend string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	for from, known := range p.known {
		if now.Sub(known.seen) > reportFor || !containsAll(known.Roles, p.roles) ||
			!containsAll(known.Reaches, reaches) {
			continue
		}
		for _, backend := range failing {
			first, ok := p.failing[backend][from]
			if ok && known.Sequence >= first+newerReports && slices.Contains(known.Reaches, backend) {
				return from.node, backend
			}
		}
	}
	return "", ""
}

func containsAll(all, some []string) bool {
	return !slices.ContainsFunc(some, func(s string) bool { return !slices.Contains(all, s) })
}
