package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"github.com/scoreboard/scoreboard/internal/test/torture/cluster"
)

// dividedBoards are the boards whose number of partitions changes during a run.
var dividedBoards = []string{boardArena, boardCourt, boardLadder}

// partitionCounts are the numbers that operators choose from.
var partitionCounts = []int{1, 2, 4, 8}

// partitioning is the numbers of partitions that the boards were last given.
type partitioning struct {
	*site
	seasons *seasons

	mu   sync.Mutex
	last map[string]int // by board; 0: the last change has no known outcome
	sets int            // acknowledged changes
}

func (r *partitioning) set(board string, count int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last[board] = count
	if count > 0 {
		r.sets++
	}
}

func (r *partitioning) of(board string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.last[board]
}

// divide gives boards their first partitions.
func (r *partitioning) divide(ctx context.Context) error {
	r.last = make(map[string]int)
	for i, board := range dividedBoards {
		count := partitionCounts[1+i]
		status, err := r.server.Call(ctx, r.cluster.First("api").URL(), http.MethodPatch, "/v1/boards/"+board,
			map[string]any{"partitions": count}, nil)
		if err != nil || status >= 300 {
			return fmt.Errorf("divide board %s: status %d, %w", board, status, err)
		}
		r.set(board, count)
	}
	return nil
}

// repartitioner changes the partitions of boards until ctx ends, some of them again before
// their ranking has the partitions that it was last given.
func (r *partitioning) repartitioner(ctx context.Context, rng *rand.Rand) {
	for {
		if pause(ctx, time.Duration(200+rng.IntN(2500))*time.Millisecond); ctx.Err() != nil {
			return
		}
		board := dividedBoards[rng.IntN(len(dividedBoards))]
		r.repartition(ctx, rng, board, partitionCounts[rng.IntN(len(partitionCounts))])
	}
}

func (r *partitioning) repartition(ctx context.Context, rng *rand.Rand, board string, count int) {
	r.set(board, 0)
	r.log.Note("", "operator: give %s %d partitions", board, count)
	status := r.request(ctx, rng, http.MethodPatch, "/v1/boards/"+board, map[string]any{"partitions": count}, nil)
	r.log.Note("", "operator: the change of %s to %d partitions was answered with %d", board, count, status)
	switch status {
	case http.StatusOK:
		r.set(board, count)
	case 0:
	default:
		r.log.Violate("partitions", "", "giving %s %d partitions was answered with %d", board, count, status)
	}
}

// checkPartitions: after the faults, each ranking gets the partitions that its board was
// last given.
func (r *partitioning) checkPartitions(ctx context.Context, rng *rand.Rand) {
	if len(r.last) == 0 {
		return
	}
	deadline := time.Now().Add(convergeTime)
	for _, board := range dividedBoards {
		if r.of(board) == 0 {
			r.repartition(ctx, rng, board, partitionCounts[rng.IntN(len(partitionCounts))])
		}
		if board == boardLadder {
			if r.storeClock.Load() {
				continue
			}
			board = r.seasons.current()
		}
		want := r.of(familyOf(board))
		for {
			got, problem := r.partitionsNow(ctx, r.node(rng, "api"), board)
			if problem == "" && got == want {
				break
			}
			if time.Now().After(deadline) || ctx.Err() != nil {
				r.log.Violate("partitions", "", "the ranking of %s has %d partitions %s after the faults, want %d; %s",
					board, got, convergeTime, want, problem)
				break
			}
			time.Sleep(200 * time.Millisecond)
		}
	}
}

// partitionsNow returns the partitions that a board's ranking has.
func (r *partitioning) partitionsNow(
	ctx context.Context, node *cluster.Node, board string,
) (count int, problem string) {
	ctx, cancel := context.WithTimeout(ctx, attemptTime)
	defer cancel()
	var ranking struct {
		Partitions int    `json:"partitions"`
		Code       string `json:"error_code"`
	}
	status, err := r.server.Call(ctx, node.URL(), http.MethodGet, "/v1/admin/boards/"+board+"/ranking", nil, &ranking)
	if err != nil || status != http.StatusOK {
		return 0, fmt.Sprintf("status %d %s %v", status, ranking.Code, err)
	}
	return ranking.Partitions, ""
}

// compareRanks compares the rank of each user with the ledger's.
func (r *partitioning) compareRanks(
	ctx context.Context, server, board string, want []standing, ended time.Time,
) string {
	for i, w := range want {
		callCtx, cancel := context.WithTimeout(ctx, attemptTime)
		p, status, err := r.server.Place(callCtx, server, board, w.user, 0)
		cancel()
		if err != nil || status != http.StatusOK || p.Degraded || p.AsOf.Before(ended) {
			return fmt.Sprintf("%s: status %d %s %v, degraded %t %s", w.user, status, p.Code, err, p.Degraded,
				p.DegradedReason)
		}
		if got := (pair{p.Score, p.Subscore}); p.Rank != int64(i)+1 || got != w.pair {
			return fmt.Sprintf("%s is at rank %d with %v, the ledger says rank %d with %v",
				w.user, p.Rank, got, i+1, w.pair)
		}
	}
	return ""
}
