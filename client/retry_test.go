package client_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/test/instance"
)

func TestRetryKeepsEventIDAndSignsAgain(t *testing.T) {
	t.Parallel()
	s := instance.New(t)
	c := newClient(t, s, options("alice"))
	clock := time.Now().Add(-10 * time.Second)
	c.SetClock(func() time.Time { clock = clock.Add(time.Second); return clock })
	s.Fail(1, 503, wire.CodeOverloaded, 0)
	s.LoseAnswers(1) // recorded, but the client gets no response
	receipt, err := c.Submit(t.Context(), client.Increment{User: "alice", Delta: 5})
	if err != nil {
		t.Fatal(err)
	}
	if !receipt.Replayed || receipt.NewScore != 5 {
		t.Errorf("got %+v, want the receipt of the lost response", receipt)
	}
	events, stamps := map[string]bool{}, map[string]bool{}
	for _, r := range s.Seen() {
		events[r.Increment.EventID], stamps[r.Increment.Timestamp+r.Increment.Signature] = true, true
	}
	if len(s.Seen()) != 3 || len(events) != 1 || len(stamps) != 3 {
		t.Errorf("got %d tries, event ids %v, stamps %v; want 3 tries, one id, a new signature each", len(s.Seen()),
			events, stamps)
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	s := instance.New(t)
	s.Set(wire.Entry{UserID: "alice", Score: 1})
	cases := []struct {
		name  string
		edit  func(*client.Options)
		in    client.Increment
		code  wire.Code
		field string
	}{
		{"invalid delta", nil, client.Increment{User: "alice"}, wire.CodeInvalidRequest, "delta"},
		{
			"delta out of range", nil,
			client.Increment{User: "alice", Delta: 1 << 40},
			wire.CodeDeltaOutOfRange, "delta",
		},
		{
			"unknown board", nil,
			client.Increment{User: "alice", Delta: 1, Board: "nowhere"},
			wire.CodeNotFound,
			"",
		},
		{
			"wrong secret", func(o *client.Options) { o.KeySecret = "other" },
			client.Increment{User: "alice", Delta: 1},
			wire.CodeInvalidSignature, "",
		},
		{
			"no token", func(o *client.Options) { o.Token = "" },
			client.Increment{User: "alice", Delta: 1},
			wire.CodeUnauthorized, "",
		},
		{
			"another's token", func(o *client.Options) { o.Token = instance.Token("bob", "") },
			client.Increment{User: "alice", Delta: 1},
			wire.CodeForbidden, "",
		},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			o := options("alice")
			if tc.edit != nil {
				tc.edit(&o)
			}
			before := len(s.Seen())
			_, err := newClient(t, s, o).Submit(t.Context(), tc.in)
			var e *client.Error
			if !errors.As(err, &e) {
				t.Fatalf("got %v, want a *client.Error", err)
			}
			seen := s.Seen()[before:]
			if len(seen) != 1 {
				t.Fatalf("got %d tries of a permanent error, want 1", len(seen))
			}
			if wire.CodeOf(err) != tc.code || e.Field != tc.field || e.RequestID != seen[0].ResponseID ||
				e.RequestID == "" || e.EventID == "" || e.Temporary() {
				t.Errorf("got %+v, want code %s, field %q, request %s", e, tc.code, tc.field, seen[0].ResponseID)
			}
		})
	}
}

func TestRetryIsBounded(t *testing.T) {
	t.Parallel()
	s := instance.New(t)
	o := options("alice")
	o.Attempts = 3
	c := newClient(t, s, o)

	s.Fail(3, 503, wire.CodeUnavailable, 0)
	_, err := c.Submit(t.Context(), client.Increment{User: "alice", Delta: 5, EventID: "match-7"})
	var e *client.Error
	if !errors.As(err, &e) || e.Attempts != 3 || e.EventID != "match-7" || !e.Temporary() {
		t.Errorf("got %+v, want an error with the event id after 3 tries", err)
	}

	s.Fail(1, 429, wire.CodeRateLimited, time.Second)
	start := time.Now()
	if _, err = c.Submit(t.Context(), client.Increment{User: "alice", Delta: 5}); err != nil {
		t.Errorf("after Retry-After: got %v", err)
	}
	if took := time.Since(start); took < time.Second {
		t.Errorf("retried after %v, but Retry-After was 1 s", took)
	}

	s.Fail(1, 429, wire.CodeRateLimited, time.Minute)
	before := len(s.Seen())
	_, err = c.Submit(t.Context(), client.Increment{User: "alice", Delta: 5})
	if !errors.As(err, &e) || e.RetryAfter != time.Minute || len(s.Seen())-before != 1 {
		t.Errorf("a Retry-After over the maximum: got %+v, want the error at once", err)
	}

	s.Fail(9, 503, wire.CodeUnavailable, 2*time.Second)
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_, err = c.Submit(ctx, client.Increment{User: "alice", Delta: 5})
	if !errors.Is(err, context.DeadlineExceeded) || wire.CodeOf(err) != wire.CodeUnavailable {
		t.Errorf("deadline during the wait: got %v, want the last error and the deadline", err)
	}
}

func TestUnreachableServer(t *testing.T) {
	t.Parallel()
	s := instance.New(t)
	c := newClient(t, s, options("alice"))
	s.Close()
	_, err := c.Top(t.Context(), client.TopQuery{})
	var e *client.Error
	if !errors.As(err, &e) || e.Status != 0 || e.Attempts != 5 || wire.CodeOf(err) != wire.CodeUnavailable {
		t.Errorf("got %+v, want unavailable after 5 tries", err)
	}
}

func TestResponseOfAnotherServer(t *testing.T) {
	t.Parallel()
	o := options("alice")
	o.HTTP = &http.Client{Transport: answer{status: 404, body: "<html>not here</html>"}}
	c, err := client.New("http://example.com", o)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_, err = c.Top(t.Context(), client.TopQuery{})
	if wire.CodeOf(err) != wire.CodeNotFound || !strings.Contains(err.Error(), "not from this API") {
		t.Errorf("got %v, want not_found and that the response is not from this API", err)
	}
}

func TestJitter(t *testing.T) {
	t.Parallel()
	for n := range 70 {
		limit := time.Second
		if n < 3 {
			limit = 200 * time.Millisecond << n
		}
		for range 50 {
			if d := client.Jitter(n, 200*time.Millisecond, time.Second); d <= 0 || d > limit+1 {
				t.Fatalf("try %d: got %v, want within %v", n, d, limit)
			}
		}
	}
}
