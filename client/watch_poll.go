package client

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"time"
)

// poll reads the top every few seconds for about the given time, so that the
// screen stays fresh while no stream can be had. It returns early when the
// server comes back after an outage, because then a stream may be had again,
// and with an error when ctx has ended or this client is refused for good.
func (w *watcher) poll(ctx context.Context, long time.Duration) error {
	end := time.Now().Add(long)
	for failures := 0; ; {
		err := w.pollOnce(ctx)
		wait := w.c.pace.pollMin + rand.N(w.c.pace.pollMax-w.c.pace.pollMin)
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
			wait = max(jitter(failures, w.c.pace.pollMin, w.c.pace.pollMax), e.RetryAfter)
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

// isFinal says that asking again with the same token is no use.
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
		Degraded: degradedReason(top.Degraded, top.DegradedReason),
	}
	if top.Version == nil || top.Epoch == nil {
		w.show(s) // degraded: from the store, which has no version
		return nil
	}
	w.take(*top.Epoch, *top.Version, s)
	return nil
}
