package client

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"time"
)

// poll reads the top every few seconds for about the given duration, while streams
// do not work. It returns early when the server is back after an outage, because
// streams may work again, and with an error when ctx ends or the server rejects this
// client permanently.
func (w *watcher) poll(ctx context.Context, duration time.Duration) error {
	end := time.Now().Add(duration)
	for failures := 0; ; {
		err := w.pollOnce(ctx)
		wait := w.c.timeouts.pollMin + rand.N(w.c.timeouts.pollMax-w.c.timeouts.pollMin)
		var e *Error
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err == nil && failures > 0:
			return nil
		case err == nil:
		case errors.As(err, &e) && isFinal(e.Status):
			return err
		default:
			w.disconnected(err)
			wait = max(jitter(failures, w.c.timeouts.pollMin, w.c.timeouts.pollMax), e.RetryAfter)
			failures++
		}
		if failures == 0 && time.Now().Add(wait).After(end) {
			return nil
		}
		if err := sleep(ctx, wait); err != nil {
			return err
		}
	}
}

// isFinal reports whether a retry with the same token is pointless.
func isFinal(status int) bool {
	return status == http.StatusUnauthorized || status == http.StatusForbidden || status == http.StatusNotFound
}

func (w *watcher) pollOnce(ctx context.Context) error {
	query := w.streamQuery()
	var top Top
	e := w.c.try(ctx, call{method: http.MethodGet, path: "/v1/leaderboard/top", query: query}, &top)
	if e != nil {
		e.Op, e.Attempts = "poll the top", 1
		return e
	}
	w.heard(Polling)
	s := State{
		Board: top.Board, Entries: top.Entries, UpdatedAt: top.UpdatedAt,
		Degraded: degradedReason(top.Degraded, top.DegradedReason, top.BoardState),
	}
	if top.Version == nil || top.Epoch == nil {
		w.show(s) // degraded: PostgreSQL has no version
		return nil
	}
	w.apply(*top.Epoch, *top.Version, s)
	return nil
}
