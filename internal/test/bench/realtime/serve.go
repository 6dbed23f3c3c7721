package realtime

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/scoreboard/scoreboard/server/http/dialect"
	"github.com/scoreboard/scoreboard/server/realtime"
	"github.com/scoreboard/scoreboard/server/realtime/sse"
	"github.com/scoreboard/scoreboard/server/realtime/ws"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Serve runs the measured server. It prints its URL and reads commands from
// Options.In: "rate N" sets the changes per second, "reads" prints the number of
// reads of the board, "stalled" the number of stalled connections, and "drain"
// drains the hub. It ends at the end of the input.
func Serve(ctx context.Context, o Options) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	boards := newRanking()
	log := slog.New(slog.NewTextHandler(o.Err, nil))
	// A drain closes all connections at once, as the storm scenario requires.
	hub := realtime.NewHub(realtime.Options{DrainPercent: 100}, boards, nil, log)
	ended := make(chan error, 1)
	go func() { ended <- hub.Run(ctx) }()
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	server := &http.Server{Handler: gateway{ws.NewServer(hub), sse.NewServer(hub)}, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = server.Serve(l) }() // until Close
	fmt.Fprintln(o.Out, "http://"+l.Addr().String())

	rate := make(chan int)
	go play(ctx, hub, boards, rate)
	for in := bufio.NewScanner(o.In); in.Scan(); {
		command, argument, _ := strings.Cut(in.Text(), " ")
		switch command {
		case "rate":
			n, err := strconv.Atoi(argument)
			if err != nil {
				return fmt.Errorf("parse the rate %q: %w", argument, err)
			}
			rate <- n
			fmt.Fprintln(o.Out, "ok")
		case "reads":
			fmt.Fprintln(o.Out, boards.reads.Load())
		case "stalled":
			n, err := stalledNow(hub)
			if err != nil {
				return err
			}
			fmt.Fprintln(o.Out, n)
		case "drain":
			fmt.Fprintln(o.Out, "ok") // the drain takes a while
			go func() { _ = hub.Drain(ctx) }()
		}
	}
	cancel()
	_ = server.Close()
	return <-ended
}

// stalledNow is the number of connections whose client does not read.
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
	return 0, errors.New("the hub has no gauge of stalled connections")
}

// play changes the board at even intervals.
func play(ctx context.Context, hub *realtime.Hub, boards *ranking, rate <-chan int) {
	var tick <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case n := <-rate:
			tick = nil
			if n > 0 {
				tick = time.Tick(time.Second / time.Duration(n))
			}
		case <-tick:
			hub.Notify(boards.change())
		}
	}
}

var formats = map[string]*realtime.Format{
	"highscore": dialect.HighscoreStream, "delta": dialect.DeltaStream, "plain": dialect.PlainStream,
}

// gateway is a minimal handler in front of a hub.
type gateway struct {
	ws  *ws.Server
	sse *sse.Server
}

func (g gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	limit, _ := strconv.Atoi(q.Get("limit")) // 0 is the default of ten
	v := realtime.Viewer{
		User: scoreboard.UserID(q.Get("user")), Address: r.RemoteAddr,
		Board: board, Limit: limit, Delta: q.Get("delta") == "1", Format: formats[q.Get("format")],
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
