package broker

import (
	"context"

	"github.com/scoreboard/scoreboard/server/protocol"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Notices publishes what boards look like, keyed by board, so that the topic
// can be compacted to the last of each.
type Notices struct{ producer *Producer }

// NewNotices publishes through p, which the caller closes.
func NewNotices(p *Producer) *Notices { return &Notices{producer: p} }

// Announce writes notices, all or an error.
func (n *Notices) Announce(ctx context.Context, notices []scoreboard.Notice) error {
	messages := make([]Message, len(notices))
	for i := range notices {
		messages[i] = Message{Key: []byte(notices[i].Board), Value: protocol.EncodeNotice(&notices[i])}
	}
	_, err := n.producer.Produce(ctx, messages)
	return err
}
