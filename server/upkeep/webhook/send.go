package webhook

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// waits are the times from a failed attempt to the next one, about a day in total.
var waits = []time.Duration{
	5 * time.Second, 30 * time.Second, 2 * time.Minute, 10 * time.Minute, 30 * time.Minute, time.Hour, 3 * time.Hour,
	6 * time.Hour, 12 * time.Hour,
}

// rewardWaits are those of rewards, about three days in total: a game gives them out when it receives them.
var rewardWaits = append(slices.Clip(waits), 12*time.Hour, 12*time.Hour, 12*time.Hour, 12*time.Hour, 2*time.Hour)

func waitsOf(t scoreboard.WebhookType) []time.Duration {
	if t == scoreboard.WebhookRewardGranted {
		return rewardWaits
	}
	return waits
}

const (
	jitter        = 0.2             // of a wait, at most, in both directions
	maxRetryAfter = time.Hour       // that a receiver may ask for
	maxPause      = 5 * time.Minute // of a webhook after failures
	maxResponse   = 4 << 10         // bytes that are read of a response, and discarded
	maxProblem    = 300             // bytes
	finishTimeout = 2 * time.Second
)

// sender sends the deliveries of one webhook, one after the other.
type sender struct {
	busy     bool
	failures int       // in sequence, without a delivery in between
	paused   time.Time // nothing is sent before: other deliveries would fail too
}

// startSender starts to send what is due for a webhook, unless that is going on or paused.
func (w *Worker) startSender(ctx context.Context, h *scoreboard.Webhook) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.senders[h.ID]
	if s == nil {
		s = &sender{}
		w.senders[h.ID] = s
	}
	if s.busy || time.Now().Before(s.paused) {
		return
	}
	s.busy = true
	address := h.URL
	w.sending.Go(func() {
		delivered, refused, err := w.sendDue(ctx, h.ID, address)
		w.mu.Lock()
		defer w.mu.Unlock()
		s.busy = false
		if delivered > 0 || err == nil && !refused { // a receiver that refuses some messages gets the others
			s.failures = 0
		}
		if err == nil && !refused {
			return
		}
		if err != nil && ctx.Err() == nil {
			w.errors.Inc()
			w.Log.Warn("webhook not served", "webhook", h.ID, "err", err)
		}
		s.failures++
		s.paused = time.Now().Add(min(time.Second<<min(s.failures, 10), maxPause))
	})
}

// sendDue sends deliveries until none is due, or the receiver does not accept one.
func (w *Worker) sendDue(ctx context.Context, id, address string) (delivered int, refused bool, err error) {
	for ctx.Err() == nil {
		d, err := w.Store.Claim(ctx, id, claimTTL)
		if err != nil || d == nil {
			return delivered, false, err
		}
		wait := w.attempt(ctx, address, d)
		if err := w.finish(ctx, d, wait); err != nil {
			return delivered, false, err
		}
		if d.State != stateDelivered {
			return delivered, true, nil
		}
		delivered++
	}
	return delivered, false, nil
}

// The states of a delivery.
const (
	statePending   = "pending"
	stateDelivered = "delivered"
	stateFailed    = "failed"
)

// attempt sends a delivery once, and sets its state, status and problem. It returns how
// long to wait for the next attempt.
func (w *Worker) attempt(
	ctx context.Context, address string, d *scoreboard.WebhookDelivery,
) (wait time.Duration) {
	var after time.Duration
	d.Status, after, d.Problem = w.post(ctx, address, d)
	switch {
	case d.Problem == "":
		d.State = stateDelivered
		return 0
	case ctx.Err() != nil: // this process ends
		return 0
	case d.Status == http.StatusGone || d.Attempts > len(waitsOf(d.Type)):
		d.State = stateFailed
		return 0
	}
	wait = waitsOf(d.Type)[d.Attempts-1]
	wait += time.Duration(float64(wait) * jitter * (2*rand.Float64() - 1))
	return max(wait, after)
}

// finish stores the outcome of an attempt, also while this process ends.
func (w *Worker) finish(ctx context.Context, d *scoreboard.WebhookDelivery, wait time.Duration) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), finishTimeout)
	defer cancel()
	log := w.Log.With("webhook", d.Webhook, "message", d.Message, "type", d.Type, "attempt", d.Attempts)
	switch d.State {
	case stateDelivered:
		w.delivered.Inc()
	case stateFailed:
		w.failed.Inc()
		log.Warn("webhook delivery failed; no attempt follows", "problem", d.Problem)
	default:
		w.retried.Inc()
		log.Info("webhook delivery not accepted", "problem", d.Problem, "retry_in", wait)
	}
	err := w.Store.Finish(ctx, d, wait)
	if err == nil && d.Status == http.StatusGone {
		err = w.Store.Disable(ctx, d.Webhook, "the receiver answered 410 Gone", nil)
	}
	return err
}

// post sends a delivery. It returns the status of the response, 0 without one; how long
// the receiver asks to wait; and what is wrong, "" if it was accepted.
func (w *Worker) post(
	ctx context.Context, address string, d *scoreboard.WebhookDelivery,
) (status int, after time.Duration, problem string) {
	now := time.Now()
	signatures, err := w.sign(ctx, d, now)
	if err != nil {
		return 0, 0, describe(err)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, address, strings.NewReader(d.Payload))
	if err != nil {
		return 0, 0, describe(err)
	}
	r.Header = http.Header{
		"Content-Type": {"application/json"}, "User-Agent": {"scoreboard/" + w.Version},
		"Webhook-Id": {d.Message}, "Webhook-Timestamp": {strconv.FormatInt(now.Unix(), 10)},
		"Webhook-Signature": {signatures},
	}
	response, err := w.client.Do(r)
	if err != nil {
		return 0, 0, describe(err)
	}
	defer func() { _ = response.Body.Close() }()
	_, _ = io.CopyN(io.Discard, response.Body, maxResponse) // the status is the answer
	if response.StatusCode/100 == 2 {
		return response.StatusCode, 0, ""
	}
	after = retryAfter(response.Header.Get("Retry-After"), time.Now())
	return response.StatusCode, after, fmt.Sprintf("the receiver answered %d", response.StatusCode)
}

// retryAfter parses both forms of the header, seconds and a date; 0 without one.
func retryAfter(text string, now time.Time) time.Duration {
	if seconds, err := strconv.Atoi(text); err == nil {
		return time.Duration(min(max(seconds, 0), int(maxRetryAfter.Seconds()))) * time.Second
	}
	if at, err := http.ParseTime(text); err == nil {
		return min(max(at.Sub(now), 0), maxRetryAfter)
	}
	return 0
}

// sign returns the signatures of a delivery with each secret in force. One that was encrypted with another
// master key does not keep it from being signed with the others.
func (w *Worker) sign(ctx context.Context, d *scoreboard.WebhookDelivery, at time.Time) (string, error) {
	encrypted, err := w.Store.Secrets(ctx, d.Webhook)
	if err != nil {
		return "", err
	}
	signatures := make([]string, 0, len(encrypted))
	var unreadable error
	for i := range encrypted {
		secret, err := w.Decrypt(d.Webhook, encrypted[i])
		if err != nil {
			unreadable = err
			continue
		}
		signer, err := standardwebhooks.NewWebhook(secret)
		if err != nil {
			return "", fmt.Errorf("use the secret of webhook %s: %w", d.Webhook, err)
		}
		signature, err := signer.Sign(d.Message, at, []byte(d.Payload))
		if err != nil {
			return "", fmt.Errorf("sign a message: %w", err)
		}
		signatures = append(signatures, signature)
	}
	if len(signatures) == 0 && unreadable != nil {
		return "", unreadable
	}
	return strings.Join(signatures, " "), nil
}

// describe says what is wrong without the address, which may have a secret in its path.
func describe(err error) string {
	var at *url.Error
	if errors.As(err, &at) {
		err = at.Err
	}
	text := strings.ToValidUTF8(scoreboard.Escape(err.Error()), "")
	return strings.ToValidUTF8(text[:min(len(text), maxProblem)], "")
}
