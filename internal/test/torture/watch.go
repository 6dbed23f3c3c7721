package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	"github.com/scoreboard/scoreboard/internal/test/torture/cluster"
	"github.com/scoreboard/scoreboard/internal/test/torture/contract"
)

// frame is what a watcher is sent.
type frame struct {
	Type     string           `json:"type"`
	Board    string           `json:"board"`
	Version  *int64           `json:"version"`
	Epoch    *int64           `json:"epoch"`
	Degraded bool             `json:"degraded"`
	Top      []contract.Entry `json:"top"`
}

// watchers follow boards as their viewers do.
type watchers struct {
	*site
	seasons   *seasons
	witnesses []*witness
}

// watcher follows a board over one WebSocket or event stream after another.
// Within a connection a board never goes back.
func (r *watchers) watcher(ctx context.Context, rng *rand.Rand, sse bool) {
	for ctx.Err() == nil {
		node := r.node(rng, "gateway")
		boards := append(r.rising(), boardCourt)
		board := boards[rng.IntN(len(boards))]
		v := &view{site: r.site, board: board, scores: make(map[string]int64)}
		until, cancel := context.WithTimeout(ctx, time.Duration(2+rng.IntN(15))*time.Second)
		path := node.URL() + "/v1/realtime/leaderboard?board=" + board
		if sse {
			r.followSSE(until, path, v.show)
		} else {
			r.followWebSocket(until, path, v.show)
		}
		cancel()
		pause(ctx, time.Duration(50+rng.IntN(300))*time.Millisecond)
	}
}

// view is what one connection has shown of its board.
type view struct {
	site           *site
	board          string
	epoch, version int64
	frames         int
	top            []contract.Entry
	scores         map[string]int64 // by user, as last shown
}

func (v *view) show(data []byte) {
	var f frame
	if err := json.Unmarshal(data, &f); err != nil {
		v.site.log.Violate("frame", "", "a frame is not JSON: %.100q", data)
		return
	}
	if f.Type != "leaderboard.updated" || f.Board != v.board || f.Epoch == nil || f.Version == nil {
		return
	}
	v.frames++
	if f.Degraded {
		return // it repeats the last epoch and version
	}
	if *f.Epoch < v.epoch || *f.Epoch == v.epoch && *f.Version < v.version {
		v.site.log.Violate(
			"frames go back",
			"",
			"board %s went from %d:%d to %d:%d",
			v.board,
			v.epoch,
			v.version,
			*f.Epoch,
			*f.Version,
		)
	}
	// Nobody is hidden on these boards: one state has one content.
	moderated := v.board == boardCourt
	if *f.Epoch == v.epoch && *f.Version == v.version && !moderated && !slices.Equal(f.Top, v.top) {
		v.site.log.Violate("two contents", "", "board %s at %d:%d is %+v after %+v",
			v.board, v.epoch, v.version, f.Top, v.top)
	}
	v.epoch, v.version, v.top = *f.Epoch, *f.Version, f.Top
	// Players' scores on these boards only rise, also from one epoch to the next.
	if slices.Contains(v.site.rising(), v.board) && !v.site.redisLost.Load() {
		for _, e := range f.Top {
			if was := v.scores[e.UserID]; e.Score < was {
				v.site.log.Violate("frames go back", e.UserID, "board %s at %d:%d shows %d, after it showed %d",
					v.board, v.epoch, v.version, e.Score, was)
			}
			v.scores[e.UserID] = e.Score
		}
	}
	for i, e := range f.Top {
		if outOfOrder(f.Top, i, v.board) {
			v.site.log.Violate(
				"frame order",
				"",
				"board %s at %d:%d: row %d is %+v after %+v",
				v.board,
				v.epoch,
				v.version,
				i,
				e,
				f.Top[max(i-1, 0)],
			)
		}
	}
}

// witness watches one board at one node during the whole run, and is connected again
// whenever it loses its connection.
type witness struct {
	board string
	node  *cluster.Node

	mu   sync.Mutex
	last frame // that was not degraded
}

func (w *witness) show(data []byte) {
	var f frame
	if err := json.Unmarshal(data, &f); err != nil || f.Type != "leaderboard.updated" || f.Degraded {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last = f
}

// witnessed is how many rows a witness is shown.
const witnessed = 10

// callWitnesses starts witnesses at every node with streams.
func (r *watchers) callWitnesses(ctx context.Context) {
	for i, node := range r.cluster.Nodes {
		if !node.Serves("gateway") {
			continue
		}
		for j, board := range append(r.rising(), boardLadder) {
			w := &witness{board: board, node: node}
			r.witnesses = append(r.witnesses, w)
			follow := r.followWebSocket
			if (i+j)%2 == 0 {
				follow = r.followSSE
			}
			path := fmt.Sprintf("%s/v1/realtime/leaderboard?limit=%d&board=%s", node.URL(), witnessed, board)
			go func() {
				for ; ctx.Err() == nil; pause(ctx, 100*time.Millisecond) {
					follow(ctx, path, w.show)
				}
			}()
		}
	}
}

// checkWitnesses: after the faults every witness is shown what the ledger says.
func (r *watchers) checkWitnesses(ctx context.Context, all rows) {
	deadline := time.Now().Add(convergeTime)
	for _, w := range r.witnesses {
		if w.board == boardLadder && r.storeClock.Load() {
			continue
		}
		for problem := "unseen"; problem != ""; pause(ctx, 50*time.Millisecond) {
			board := w.board
			if board == boardLadder {
				board = r.seasons.current()
			}
			if problem = w.differs(board, standings(board, all)); problem != "" && time.Now().After(deadline) {
				r.log.Violate("watching", "", "a watcher of %s at node %d, %s after the faults: %s",
					board, w.node.ID, convergeTime, problem)
				break
			}
		}
	}
}

func (w *witness) differs(board string, want []standing) (problem string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	want = want[:min(len(want), witnessed)]
	if w.last.Board != board || len(w.last.Top) != len(want) {
		return fmt.Sprintf("was last shown %d rows of %s, want %d", len(w.last.Top), w.last.Board, len(want))
	}
	for i, e := range w.last.Top {
		if e.UserID != want[i].user || pairOf(e) != want[i].pair {
			return fmt.Sprintf("place %d was last shown as %+v, the ledger says %s with %v",
				i+1, e, want[i].user, want[i].pair)
		}
	}
	return ""
}

func (r *site) followWebSocket(ctx context.Context, path string, show func([]byte)) {
	header := http.Header{"Authorization": {"Bearer " + r.server.Token}}
	dialer := websocket.Dialer{HandshakeTimeout: attemptTime}
	ws, resp, err := dialer.DialContext(ctx, "ws"+strings.TrimPrefix(path, "http"), header)
	if resp != nil {
		_ = resp.Body.Close()
	}
	if err != nil {
		return
	}
	stop := context.AfterFunc(ctx, func() { _ = ws.Close() })
	defer func() {
		stop()
		_ = ws.Close()
	}()
	for {
		_, data, err := ws.ReadMessage()
		if err != nil {
			return
		}
		show(data)
	}
}

func (r *site) followSSE(ctx context.Context, path string, show func([]byte)) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, path, nil)
	if err != nil {
		return
	}
	req.Header.Set("Authorization", "Bearer "+r.server.Token)
	req.Header.Set("Accept", "text/event-stream")
	resp, err := r.server.HTTP.Do(req)
	if err != nil {
		return
	}
	defer func() { _ = resp.Body.Close() }()
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			show([]byte(data))
		}
	}
}
