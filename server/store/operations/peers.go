package operations

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store/internal/pg"
)

// JoinTransportPeers registers owner as alive for ttl, with the transports that it
// supports.
func (s *Settings) JoinTransportPeers(
	ctx context.Context, owner string, transports []string, ttl time.Duration,
) error {
	var b pgx.Batch
	b.Queue(`insert into carriers (owner, transports, alive_until) values ($1, $2, clock_timestamp() + $3::interval)
on conflict (owner) do update set alive_until = excluded.alive_until`, owner, transports, ttl)
	b.Queue(`delete from carriers where alive_until < clock_timestamp() - interval '1 minute'
    or alive_until > clock_timestamp() + 10 * $1::interval`, ttl) // from before the clock went back
	if err := s.db.SendBatch(ctx, &b).Close(); err != nil {
		return pg.Translate(fmt.Errorf("register the transport peer: %w", err))
	}
	return nil
}

// TransportPeers lists the processes that are alive.
func (s *Settings) TransportPeers(ctx context.Context) ([]scoreboard.TransportPeer, error) {
	rows, err := s.db.Query(
		ctx,
		`select owner, transports from carriers where alive_until > clock_timestamp() order by owner`,
	)
	if err != nil {
		return nil, pg.Translate(fmt.Errorf("list the transport peers: %w", err))
	}
	all, err := pgx.CollectRows(rows, pgx.RowToStructByPos[scoreboard.TransportPeer])
	if err != nil {
		return nil, pg.Translate(fmt.Errorf("list the transport peers: %w", err))
	}
	return all, nil
}
