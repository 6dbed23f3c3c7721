package loadgen

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/gorilla/websocket"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/internal/retry"
	"github.com/scoreboard/scoreboard/loadgen/plan"
)

const (
	// watchRetry is the delay before a watcher connects again.
	watchRetry = time.Second
	// maxSilence is how long a stream may be silent: servers ping every 30 s.
	maxSilence = 75 * time.Second
)

// Watch implements freshness.API, over the stream of the dialect.
func (d *dialectAPI) Watch(ctx context.Context, i int, seen func([]client.Entry)) (reconnects int) {
	for ; ; reconnects++ {
		_ = d.follow(ctx, fmt.Sprintf("%swatcher-%d", d.plan.Prefix, i), seen) // it is counted
		if !retry.Sleep(ctx, watchRetry) {
			return reconnects
		}
	}
}

// follow follows the stream until it ends.
func (d *dialectAPI) follow(ctx context.Context, user string, seen func([]client.Entry)) error {
	token, err := d.tokenOf(ctx, user)
	if err != nil {
		return err
	}
	switch d.plan.Dialect {
	case plan.Highscore:
		return d.followSocket(ctx, "/v1/ws/leaderboard", token, seen)
	case plan.Delta:
		r, err := exchange(ctx, d.web, http.MethodPost, d.url+"/v1/leaderboard/ws-token", token, "")
		if err != nil {
			return err
		}
		var once struct{ Token string }
		if err := json.Unmarshal(r.body, &once); err != nil {
			return err
		}
		return d.followSocket(ctx, "/v1/leaderboard/ws", once.Token, seen)
	}
	return d.followEvents(ctx, "/leaderboard/stream", token, seen)
}

func (d *dialectAPI) followSocket(ctx context.Context, path, token string, seen func([]client.Entry)) error {
	url := "ws" + strings.TrimPrefix(d.url, "http") + path + "?token=" + token
	conn, res, err := websocket.DefaultDialer.DialContext(ctx, url, nil)
	if res != nil {
		_ = res.Body.Close()
	}
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })() // only this ends a read
	defer func() { _ = conn.Close() }()
	conn.SetReadLimit(maxResponse)
	alive := func() { _ = conn.SetReadDeadline(time.Now().Add(maxSilence)) }
	pong := conn.PingHandler()
	conn.SetPingHandler(func(data string) error { alive(); return pong(data) })
	for {
		alive()
		_, message, err := conn.ReadMessage()
		if err != nil {
			return err
		}
		if err := show(message, seen); err != nil {
			return err
		}
	}
}

func (d *dialectAPI) followEvents(ctx context.Context, path, token string, seen func([]client.Entry)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	silence := time.AfterFunc(maxSilence, cancel)
	defer silence.Stop()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, d.url+path, nil)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Accept", "text/event-stream")
	res, err := d.web.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		return &statusError{status: res.StatusCode}
	}
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, maxResponse)
	for lines.Scan() {
		silence.Reset(maxSilence)
		if data, ok := strings.CutPrefix(lines.Text(), "data:"); ok {
			if err := show([]byte(data), seen); err != nil {
				return err
			}
		}
	}
	return lines.Err()
}

// show passes on the rows of a message; one without rows is about the user alone.
func show(message []byte, seen func([]client.Entry)) error {
	var rows dialectRows
	if err := json.Unmarshal(message, &rows); err != nil {
		return fmt.Errorf("decode a message: %w", err)
	}
	if all := rows.entries(); len(all) > 0 {
		seen(all)
	}
	return nil
}
