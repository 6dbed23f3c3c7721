package broker

import (
	"context"

	"github.com/scoreboard/scoreboard/server/protocol"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Seasons publishes the ends of periods, keyed by instance.
type Seasons struct{ producer Way }

// NewSeasons publishes by a way, which the caller closes.
func NewSeasons(w Way) *Seasons { return &Seasons{producer: w} }

// AnnounceClosed writes one end. It returns nil once it is acknowledged.
func (s *Seasons) AnnounceClosed(ctx context.Context, e *scoreboard.Ending) error {
	_, err := s.producer.Produce(ctx, []Message{{
		Key: []byte(e.Board.ID), Value: protocol.EncodeSeasonClosed(e),
		Headers: []Header{{Key: "event_id", Value: []byte(scoreboard.FormatUUID(e.EventID().UUID))}},
	}})
	return err
}
