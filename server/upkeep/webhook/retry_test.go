package webhook

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// lockedStore has no secret to sign with, so that no attempt succeeds.
type lockedStore struct{ Store }

func (lockedStore) Secrets(context.Context, string) ([][]byte, error) {
	return nil, errors.New("locked")
}

// A message about a reward is tried for three days, any other for a day; then it has failed.
func TestMessagesAreTriedForDays(t *testing.T) {
	t.Parallel()
	w := &Worker{Options: Options{Store: lockedStore{}}}
	for kind, want := range map[scoreboard.WebhookType]time.Duration{
		scoreboard.WebhookRewardGranted: 72 * time.Hour, scoreboard.WebhookUserFlagged: 22 * time.Hour,
	} {
		var planned, waited time.Duration
		for _, wait := range waitsOf(kind) {
			planned += wait
		}
		if planned < want || planned > want+time.Hour {
			t.Errorf("%s: %s are planned, want %s", kind, planned, want)
		}
		d := &scoreboard.WebhookDelivery{Type: kind, State: statePending}
		for d.State == statePending && d.Attempts < 100 {
			d.Attempts++
			waited += w.attempt(t.Context(), "https://receiver.example", d)
		}
		if d.State != stateFailed || d.Attempts != len(waitsOf(kind))+1 {
			t.Errorf("%s: %s after %d attempts, want it failed after %d", kind, d.State, d.Attempts,
				len(waitsOf(kind))+1)
		}
		if less := time.Duration(float64(planned) * (1 - jitter)); waited < less || waited > planned+planned-less {
			t.Errorf("%s: waited for %s in total, want %s with a fifth more or less", kind, waited, planned)
		}
	}
}
