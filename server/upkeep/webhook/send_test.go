package webhook

import (
	"context"
	"encoding/base64"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/scoreboard/scoreboard/internal/publicnet"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/upkeep"
)

// outbox has the deliveries to one webhook, by their ids.
type outbox struct {
	Store
	due       []scoreboard.WebhookDelivery
	delivered int
}

func (o *outbox) Claim(context.Context, string, time.Duration) (claimed *scoreboard.WebhookDelivery, err error) {
	for i := range o.due {
		d := &o.due[i]
		if d.State == statePending && !time.Now().Before(d.Next) && (claimed == nil || d.Next.Before(claimed.Next)) {
			claimed = d
		}
	}
	if claimed == nil {
		return nil, nil
	}
	claimed.Attempts++
	d := *claimed
	return &d, nil
}

func (o *outbox) Finish(_ context.Context, d *scoreboard.WebhookDelivery, wait time.Duration) error {
	at := &o.due[d.ID]
	at.State, at.Next = d.State, time.Now().Add(wait)
	if d.State == stateDelivered {
		o.delivered++
	}
	return nil
}

func (o *outbox) Secrets(context.Context, string) ([][]byte, error) { return [][]byte{nil}, nil }

type receiver func(id string) int

func (f receiver) RoundTrip(r *http.Request) (*http.Response, error) {
	status := f(r.Header.Get("Webhook-Id"))
	return &http.Response{StatusCode: status, Body: io.NopCloser(strings.NewReader(""))}, nil
}

// A receiver that always refuses some messages gets all others soon. One that refuses all is rarely asked.
func TestRefusedMessagesDelayNoOthers(t *testing.T) {
	t.Parallel()
	for about, refuses := range map[string]func(id string) bool{
		"some": func(id string) bool { return strings.HasSuffix(id, "0") },
		"all":  func(string) bool { return true },
	} {
		t.Run(about, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				const messages = 200
				o := &outbox{}
				accepted := 0
				for i := range messages {
					id := strconv.Itoa(i)
					o.due = append(o.due, scoreboard.WebhookDelivery{ID: int64(i), Message: id, State: statePending})
					if !refuses(id) {
						accepted++
					}
				}
				requests := 0
				log := slog.New(slog.DiscardHandler)
				w := New(Options{
					Runner: upkeep.NewRunner("test", nil, log), Store: o, Log: log, Networks: publicnet.Networks{},
					Decrypt: func(string, []byte) (string, error) {
						return "whsec_" + base64.StdEncoding.EncodeToString(make([]byte, 32)), nil
					},
				})
				w.client.Transport = receiver(func(id string) int {
					requests++
					if refuses(id) {
						return http.StatusServiceUnavailable
					}
					return http.StatusNoContent
				})
				for range 60 {
					w.startSender(t.Context(), &scoreboard.Webhook{ID: "w"})
					synctest.Wait()
					time.Sleep(time.Second)
				}
				if o.delivered != accepted {
					t.Errorf("%d messages delivered within a minute, want %d", o.delivered, accepted)
				}
				if accepted == 0 && requests > 6 {
					t.Errorf("a receiver that refuses all was asked %d times within a minute", requests)
				}
			})
		})
	}
}
