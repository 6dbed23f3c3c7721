package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/scoreboard/scoreboard/server/realtime"
	"github.com/scoreboard/scoreboard/server/realtime/sse"
	"github.com/scoreboard/scoreboard/server/realtime/ws"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// serve is the measured process. It prints its address, then does what it is
// told on stdin: `rate N` changes a second, `reads` of the board so far, `stalled`
// connections now, `drain`.
// It ends with its stdin.
func serve(ctx context.Context, _ options) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	boards := newRanking()
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	// All at once: what a storm is made of. The clients need not heed the byes.
	hub := realtime.NewHub(realtime.Options{DrainPercent: 100}, boards, log)
	ended := make(chan error, 1)
	go func() { ended <- hub.Run(ctx) }()
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	server := &http.Server{Handler: gateway{ws.NewServer(hub), sse.NewServer(hub)}, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = server.Serve(l) }() // ends with Close
	fmt.Println("http://" + l.Addr().String())

	rate := make(chan int)
	go play(ctx, hub, boards, rate)
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		command, argument, _ := strings.Cut(in.Text(), " ")
		switch command {
		case "rate":
			n, err := strconv.Atoi(argument)
			if err != nil {
				return fmt.Errorf("rate %q: %w", argument, err)
			}
			rate <- n
			fmt.Println("ok")
		case "reads":
			fmt.Println(boards.reads.Load())
		case "stalled":
			n, err := stalledNow(hub)
			if err != nil {
				return err
			}
			fmt.Println(n)
		case "drain":
			fmt.Println("ok") // the drain takes a while; the clients see it
			go func() { _ = hub.Drain(ctx) }()
		}
	}
	cancel()
	_ = server.Close()
	return <-ended
}

// stalledNow is how many connections hold what their client does not take.
func stalledNow(hub *realtime.Hub) (float64, error) {
	reg := prometheus.NewRegistry()
	reg.MustRegister(hub.Collectors()...)
	families, err := reg.Gather()
	if err != nil {
		return 0, fmt.Errorf("gather metrics: %w", err)
	}
	for _, f := range families {
		if f.GetName() == "scoreboard_realtime_stalled_connections" {
			return f.GetMetric()[0].GetGauge().GetValue(), nil
		}
	}
	return 0, errors.New("no gauge of stalled connections")
}

// play changes the board, evenly.
func play(ctx context.Context, hub *realtime.Hub, boards *ranking, rate <-chan int) {
	var due <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case n := <-rate:
			due = nil
			if n > 0 {
				due = time.Tick(time.Second / time.Duration(n))
			}
		case <-due:
			hub.Notify(boards.change())
		}
	}
}

// gateway is the least that stands before a hub.
type gateway struct {
	ws  *ws.Server
	sse *sse.Server
}

func (g gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	limit, _ := strconv.Atoi(q.Get("limit")) // none is ten
	v := scoreboard.Viewer{
		User: scoreboard.UserID(q.Get("user")), Address: r.RemoteAddr,
		Board: board, Limit: limit, Delta: q.Get("delta") == "1",
	}
	var err error
	if r.Header.Get("Accept") == "text/event-stream" {
		err = g.sse.Serve(w, r, &v)
	} else {
		err = g.ws.Serve(w, r, &v)
	}
	var refused *scoreboard.Error
	if errors.As(err, &refused) {
		http.Error(w, refused.Message, http.StatusServiceUnavailable)
	}
}

const path = "/v1/realtime/leaderboard"
