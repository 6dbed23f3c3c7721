package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/scoreboard/scoreboard/internal/test/torture/cluster"
	"github.com/scoreboard/scoreboard/internal/test/torture/contract"
)

// site is the installation under test, and the log of what happens to it. All clients, faults
// and checks share it.
type site struct {
	o       options
	cluster *cluster.Cluster
	log     *contract.Log
	server  *contract.Client // scopes score:update and score:admin

	// storeClock: PostgreSQL's clock was stepped. Seasons follow it, so some began in
	// what is the future now.
	storeClock atomic.Bool
	// redisLost: Redis may have lost what it had shown.
	redisLost atomic.Bool
	// faultsOver: the faults have ended, and no request from before is still on its way.
	faultsOver atomic.Bool
}

// rng is the random source of one actor.
func (s *site) rng(actor uint64) *rand.Rand { return rand.New(rand.NewPCG(s.o.seed, actor)) }

// phase says how far the end of a run is.
func (s *site) phase(name string) {
	fmt.Printf("%s after %s\n", name, s.log.Now().Round(100*time.Millisecond))
}

// node draws a node that serves a role.
func (s *site) node(rng *rand.Rand, role string) *cluster.Node {
	var fit []*cluster.Node
	for _, n := range s.cluster.Nodes {
		if n.Serves(role) || role == "read" && n.Serves("api") {
			fit = append(fit, n)
		}
	}
	if edge := s.cluster.Edge; edge != nil && edge.Serves(role) && rng.IntN(2) == 0 {
		return edge.Node
	}
	return fit[rng.IntN(len(fit))]
}

// admin sends a change and says whether it was answered with success.
func (s *site) admin(ctx context.Context, node *cluster.Node, method, path string, body any) bool {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 3*attemptTime)
	defer cancel()
	s.log.Note("", "operator: %s %s %v at node %d", method, path, body, node.ID)
	var answer json.RawMessage
	status, err := s.server.Call(ctx, node.URL(), method, path, body, &answer)
	s.log.Note("", "operator: %s answered %d %.200s %v", path, status, answer, err)
	return err == nil && status < 300
}

func (s *site) anyNode(rng *rand.Rand) *cluster.Node {
	return s.cluster.Nodes[rng.IntN(len(s.cluster.Nodes))]
}

// must stops a run whose own means fail: it would prove nothing.
func (s *site) must(err error) {
	if err != nil {
		s.log.Violate("harness", "", "%v", err)
	}
}

// wanted says whether --only allows a fault.
func (s *site) wanted(name string) bool {
	return slices.ContainsFunc(strings.Split(s.o.only, ","), func(part string) bool {
		return strings.Contains(name, part)
	})
}

// mustWithin is must for what takes a while, at most a minute.
func (s *site) mustWithin(do func(context.Context) error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	s.must(do(ctx))
}

func (s *site) startBackend(b cluster.Backend) {
	s.mustWithin(func(ctx context.Context) error { return s.cluster.StartBackend(ctx, b) })
}

// change sends an operator's change until it is answered with success or a final
// error, at any node. Its status is 0 if that does not happen within changeTime.
func (s *site) change(ctx context.Context, rng *rand.Rand, path string, body map[string]any, out any) (status int) {
	return s.request(ctx, rng, http.MethodPost, path, body, out)
}

// request is change with any method.
func (s *site) request(
	ctx context.Context, rng *rand.Rand, method, path string, body map[string]any, out any,
) (status int) {
	for end := time.Now().Add(changeTime); time.Now().Before(end); {
		callCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*attemptTime)
		var err error
		status, err = s.server.Call(callCtx, s.node(rng, "api").URL(), method, path, body, out)
		cancel()
		if err == nil && status < 500 && status != http.StatusTooManyRequests &&
			status != http.StatusUnauthorized {
			return status
		}
		time.Sleep(time.Duration(50+rng.IntN(200)) * time.Millisecond)
	}
	return 0
}
