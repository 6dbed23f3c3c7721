package transport_test

import (
	"context"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/server/pipeline/transport"

	"github.com/scoreboard/scoreboard/server/pipeline/transport/transporttest"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

func TestTransport(t *testing.T) {
	t.Parallel()
	transporttest.TestDelivery(t, func(t *testing.T) transporttest.Rig {
		d := transport.NewDirect()
		rig := transporttest.New(d, func() transport.Consumer { return d })
		rig.Publisher = &retrying{t: t, Publisher: rig.Publisher}
		return rig
	})
}

// retrying publishes in the background until every change is handled, as the
// relay does.
type retrying struct {
	transporttest.Publisher
	t testing.TB
}

func (p *retrying) Publish(_ context.Context, changes []scoreboard.Change) (int, error) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for left := changes; len(left) > 0 && ctx.Err() == nil; {
			n, err := p.Publisher.Publish(ctx, left[:min(50, len(left))])
			if left = left[n:]; err != nil {
				time.Sleep(10 * time.Millisecond)
			}
		}
	}()
	p.t.Cleanup(func() { cancel(); <-done })
	return len(changes), nil
}
