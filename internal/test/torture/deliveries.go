package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

// deliveries receives the messages about rewards.
type deliveries struct {
	*site

	mu       sync.Mutex
	received map[string]string // bodies by webhook-id
	refused  int
	closed   bool
	granted  map[string]granted // by webhook-id, as the lists of rewards show them
}

// granted is a reward. One that was claimed may have been claimed before the message was made.
type granted struct {
	board string
	reward
}

func newDeliveries(s *site) *deliveries {
	return &deliveries{site: s, received: make(map[string]string), granted: make(map[string]granted)}
}

// subscribe receives messages until ctx ends. Nodes in containers do not reach the receiver.
func (d *deliveries) subscribe(ctx context.Context) error {
	if d.cluster.Edge != nil {
		return nil
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("receive webhooks: %w", err)
	}
	server := &http.Server{Handler: d, ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(l) }()
	context.AfterFunc(ctx, func() { _ = server.Close() })
	status, err := d.server.Call(ctx, d.cluster.Nodes[0].URL(), http.MethodPost, "/v1/admin/webhooks", map[string]any{
		"url": "http://" + l.Addr().String(), "types": []string{"reward.granted"},
		"boards": []string{boardStars, boardCup},
	}, nil)
	if err != nil || status >= 300 {
		return fmt.Errorf("create a webhook: status %d, %w", status, err)
	}
	return nil
}

// ServeHTTP accepts a message, or refuses one of 25.
func (d *deliveries) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the node was killed
	}
	id := r.Header.Get("Webhook-Id")
	d.mu.Lock()
	defer d.mu.Unlock()
	before, known := d.received[id]
	switch {
	case d.closed:
	case known && before != string(body):
		d.log.Violate("webhook", "", "message %s was %s, and is %s", id, before, body)
	case !known && (len(d.received)+d.refused)%25 == 24:
		d.refused++
		w.WriteHeader(http.StatusServiceUnavailable)
	default:
		d.received[id] = string(body)
	}
}

// close ends the comparison: once PostgreSQL goes back in time, ids are used again.
func (d *deliveries) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
}

// expect notes a reward of a season.
func (d *deliveries) expect(board string, one reward) {
	d.granted[fmt.Sprintf("msg_reward_%d", one.ID)] = granted{board, one}
}

// await waits for the messages about all rewards that were expected, and compares those that came: each is about one of
// these rewards.
func (d *deliveries) await() {
	if d.cluster.Edge != nil {
		return
	}
	missing := func() (ids []string) {
		d.mu.Lock()
		defer d.mu.Unlock()
		for id, one := range d.granted {
			if _, came := d.received[id]; !came && one.State == "claimable" {
				ids = append(ids, id)
			}
		}
		return ids
	}
	for deadline := time.Now().Add(convergeTime); len(missing()) > 0 && time.Now().Before(deadline); {
		time.Sleep(200 * time.Millisecond)
	}
	for _, id := range missing() {
		d.log.Violate("webhook", d.granted[id].UserID, "no message %s about %+v", id, d.granted[id])
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for id, body := range d.received {
		var got struct {
			Type string `json:"type"`
			Data struct {
				Board string `json:"board"`
				reward
			} `json:"data"`
		}
		err := json.Unmarshal([]byte(body), &got)
		want, is := d.granted[id]
		if err != nil || !is || got.Type != "reward.granted" || got.Data.Board != want.board ||
			got.Data.ID != want.ID || got.Data.UserID != want.UserID || got.Data.Rank != want.Rank ||
			string(got.Data.Reward) != string(want.Reward) {
			d.log.Violate("webhook", got.Data.UserID, "message %s says %s, the list of rewards %+v", id, body, want)
		}
	}
	fmt.Printf("%d messages about %d rewards, %d refused at first\n", len(d.received), len(d.granted), d.refused)
}
