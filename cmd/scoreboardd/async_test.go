package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/http/auth"
)

// asyncCaller posts increments with Prefer: respond-async.
type asyncCaller struct {
	h      *harness
	d      *daemon
	bearer string
	signer client.Signer
	http   *http.Client

	retryAfter string // of the last response
}

func (h *harness) async(d *daemon, user, scope string) *asyncCaller {
	h.t.Helper()
	admin, err := client.New(d.url, client.Options{Token: h.token("root", auth.ScopeAdmin)})
	if err != nil {
		h.t.Fatal(err)
	}
	defer admin.Close()
	key, err := admin.CreateKey(h.t.Context(), client.KeyRequest{Name: user})
	if err != nil {
		h.t.Fatal(err)
	}
	return &asyncCaller{
		h: h, d: d, bearer: "Bearer " + h.token(user, scope),
		signer: client.Signer{KeyID: key.KeyID, Secret: key.Secret}, http: http.DefaultClient,
	}
}

// post returns the HTTP status, the body's status field or error code, and the
// Location header.
func (a *asyncCaller) post(user string, delta int64, event string) (status int, what, location string) {
	a.h.t.Helper()
	r := wire.IncrementRequest{UserID: user, Delta: delta, EventID: event}
	a.signer.Fields(&r, time.Now())
	b, err := json.Marshal(r)
	if err != nil {
		a.h.t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(a.h.t.Context(), http.MethodPost, a.d.url+"/v1/scores/increment",
		bytes.NewReader(b))
	if err != nil {
		a.h.t.Fatal(err)
	}
	req.Header.Set("Prefer", "respond-async")
	req.Header.Set("Content-Type", "application/json")
	return a.do(req)
}

func (a *asyncCaller) event(id string) (int, string, string) {
	a.h.t.Helper()
	req, err := http.NewRequestWithContext(a.h.t.Context(), http.MethodGet, a.d.url+id, nil)
	if err != nil {
		a.h.t.Fatal(err)
	}
	return a.do(req)
}

func (a *asyncCaller) do(req *http.Request) (int, string, string) {
	a.h.t.Helper()
	req.Header.Set("Authorization", a.bearer)
	resp, err := a.http.Do(req)
	if err != nil {
		a.h.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		a.h.t.Fatal(err)
	}
	var body struct {
		Status    string `json:"status"`
		ErrorCode string `json:"error_code"`
	}
	if err := json.Unmarshal(b, &body); err != nil {
		a.h.t.Fatalf("%s: %v", b, err)
	}
	a.retryAfter = resp.Header.Get("Retry-After")
	return resp.StatusCode, strings.Trim(body.Status+" "+body.ErrorCode, " "), resp.Header.Get("Location")
}

func TestAsyncIncrement(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	d := h.start("--roles", "api,relay,projector,gateway,maintenance") // no intake
	a := h.async(d, "alice", "")
	status, what, location := a.post("alice", 5, "match-1")
	if status != 202 || what != "pending" || location != "/v1/events/match-1?user_id=alice" {
		t.Fatalf("got %d %q %q, want a 202 with a Location", status, what, location)
	}
	for name, want := range map[string]string{"again": "202 pending", "another payload": "409 event_conflict"} {
		delta := int64(5)
		if name == "another payload" {
			delta = 6
		}
		if status, what, _ := a.post("alice", delta, "match-1"); fmt.Sprint(status, " ", what) != want {
			t.Errorf("%s while pending: got %d %s, want %s", name, status, what, want)
		}
	}
	if status, what, _ := a.event(location); status != 200 || what != "pending" {
		t.Errorf("status while pending: got %d %s", status, what)
	}
	h.start("--roles", "intake")
	eventually(t, "the event to be done", func() error {
		if status, what, _ := a.event(location); status != 200 || what != "done" {
			return fmt.Errorf("got %d %s", status, what)
		}
		return nil
	})
	if status, what, _ := a.post("alice", 5, "match-1"); status != 200 || what != "done" {
		t.Errorf("repeated when done: got %d %s", status, what)
	}
	if status, what, _ := a.post("alice", 6, "match-1"); status != 409 || what != "event_conflict" {
		t.Errorf("another payload when done: got %d %s", status, what)
	}
	if n := h.sql(`select count(*) from user_score_histories where source = 'async' and new_score = 5`); n != 1 {
		t.Errorf("ledger rows: got %d, want 1", n)
	}
	if status, what, _ := a.event("/v1/events/match-2"); status != 404 || what != "not_found" {
		t.Errorf("unknown event: got %d %s", status, what)
	}
}

func TestRejectionAfter202IsKept(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	d := h.start("--roles", "api")
	a := h.async(d, "alice", "")
	if status, what, _ := a.post("alice", 5, "late"); status != 202 {
		t.Fatalf("got %d %s", status, what)
	}
	h.exec(`update boards set status = 'frozen'`)
	h.start("--roles", "intake")
	eventually(t, "the rejection", func() error {
		if status, what, _ := a.event("/v1/events/late"); status != 200 || what != "rejected board_closed" {
			return fmt.Errorf("got %d %s", status, what)
		}
		return nil
	})
}

func TestBatchHasAResultPerItem(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	d := h.start()
	server := h.client(d, "server", auth.ScopeUpdate)
	ctx, cancel := contextFor(time.Minute)
	defer cancel()
	results, err := server.SubmitBatch(ctx, []client.Increment{
		{User: "alice", Delta: 5, EventID: "e1"},
		{User: "alice", Delta: 5, EventID: "e1"},
		{User: "alice", Delta: 6, EventID: "e1"},
		{User: "alice", Delta: 0, EventID: "e2"},
		{User: "bob", Delta: 7, EventID: "e1"},
		{User: "b|b", Delta: 7, EventID: "e1"},
		{User: "bob", Delta: 1, EventID: "e2", Board: "nowhere"},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"5 false", "5 true", "event_conflict", "invalid_request", "7 false", "invalid_request",
		"not_found",
	}
	for i, r := range results {
		got := fmt.Sprint(r.Receipt.NewScore, " ", r.Receipt.Replayed)
		if e := new(client.Error); errors.As(r.Err, &e) {
			got = string(e.Code)
		} else if r.Err != nil {
			got = r.Err.Error()
		}
		if got != want[i] {
			t.Errorf("item %d: got %s, want %s", i, got, want[i])
		}
	}
	user := h.client(d, "alice", "")
	if _, err := user.SubmitBatch(ctx, []client.Increment{{User: "alice", Delta: 5}}); err == nil {
		t.Error("a user's token may submit batches")
	}
}
