package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/test/torture/cluster"
)

// ready bounds the start of a node, and other waits that are normally seconds.
const ready = time.Minute

// chore is what operators do in an hour.
type chore struct {
	what string
	do   func(ctx context.Context, hour int) error
}

func (s *run) chores() []chore {
	return []chore{
		{"rotate the key", s.play.rotateKey},
		{"rotate the certificate", s.rotateCertificate},
		{"start a season", s.startSeason},
		{"archive the ledger", s.archive},
		{"deploy", s.deploy},
	}
}

// hour does everything once.
func (s *run) hour(ctx context.Context, hour int) error {
	for _, chore := range s.chores() {
		if err := chore.do(ctx, hour); err != nil {
			return fmt.Errorf("hour %d: %s: %w", hour, chore.what, err)
		}
		s.report.did(chore.what)
	}
	return nil
}

// deploy restarts nodes one by one, and gives the last one the earlier version in every other hour. The
// first one is left alone after the second hour: its memory is judged over the rest of the day.
func (s *run) deploy(ctx context.Context, hour int) error {
	nodes := s.nodes.Nodes
	if version := s.o.binary; s.o.earlier != "" {
		if hour%2 == 0 {
			version = s.o.earlier
		}
		nodes[len(nodes)-1].Install(version)
	}
	if s.alone.Store(hour >= 2); hour >= 2 {
		nodes = nodes[1:]
	}
	for _, n := range nodes {
		if err := s.restart(ctx, n); err != nil {
			return err
		}
	}
	return nil
}

func (s *run) restart(ctx context.Context, n *cluster.Node) error {
	n.Stop()
	if err := n.Start(); err != nil {
		return err
	}
	return s.nodes.AwaitReady(ctx, ready)
}

// startSeason ends the season of the league and begins the next one.
func (s *run) startSeason(ctx context.Context, hour int) error {
	ends := time.Now().Add(48 * time.Hour).UTC().Truncate(time.Second)
	next := wire.RollRequest{Season: fmt.Sprintf("s%d", hour+1), EndsAt: &ends}
	return eventually(ctx, func() error { // another node may be at the standings of the last one
		_, err := s.play.admin.RollBoards(ctx, league, next)
		begun, sqlErr := s.number(ctx, `select count(*) from boards where board_id = $1`, league+":"+next.Season)
		if sqlErr == nil && begun > 0 {
			return nil
		}
		return errors.Join(err, sqlErr)
	})
}

// rotateCertificate replaces the certificate's files, and waits until all nodes present the new one.
func (s *run) rotateCertificate(ctx context.Context, _ int) error {
	serial, err := s.certs.issue()
	if err != nil {
		return err
	}
	for _, n := range s.nodes.Nodes {
		err := eventually(ctx, func() error {
			dialer := tls.Dialer{Config: s.certs.config()}
			conn, err := dialer.DialContext(ctx, "tcp", strings.TrimPrefix(n.URL(), "http://"))
			if err != nil {
				return err
			}
			defer func() { _ = conn.Close() }()
			presented := conn.(*tls.Conn).ConnectionState().PeerCertificates[0].SerialNumber
			if presented.Cmp(serial) != 0 {
				return fmt.Errorf("node %d presents certificate %s, not %s", n.ID, presented, serial)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// archive makes a month of the ledger old, and archives it: a user who plays no more submits some
// increments, of which the database's owner then moves all but the last into the partition of a past month.
func (s *run) archive(ctx context.Context, hour int) error {
	user := fmt.Sprintf("retired-%02d", hour)
	for range 3 {
		if err := s.play.submit(ctx, 0, client.Increment{
			User: user, Delta: 1, EventID: client.NewEventID(), Board: "global",
		}); err != nil {
			return err
		}
	}
	if err := s.drained(ctx); err != nil {
		return err
	}
	// Older than the retention, and a month of its own for each hour.
	month := time.Now().UTC().AddDate(0, -6-hour, 1-time.Now().UTC().Day()).Truncate(24 * time.Hour)
	if err := s.sql(ctx, `select create_ledger_partition($1, $2)`, month, month.AddDate(0, 1, 0)); err != nil {
		return err
	}
	err := s.sql(ctx, `update user_score_histories
set recorded_at = $2::timestamptz + (recorded_at - date_trunc('day', recorded_at))
where user_id = $1 and version < 3`, user, month)
	if err != nil {
		return err
	}
	return eventually(ctx, func() error { // writers have priority: an archive that waits for a lock gives up
		if _, err := s.play.admin.ArchiveLedger(ctx, false); err != nil {
			return err
		}
		left, err := s.number(ctx, `select count(*) from user_score_histories where user_id = $1 and version < 3`, user)
		if err == nil && left > 0 {
			err = fmt.Errorf("%d rows of %s are not archived", left, month.Format("2006-01"))
		}
		return err
	})
}

// drained waits until everything recorded so far has been published.
func (s *run) drained(ctx context.Context) error {
	last, err := s.number(ctx, `select coalesce(max(id), 0) from outbox_score_updates`)
	if err != nil {
		return err
	}
	return eventually(ctx, func() error {
		n, err := s.number(ctx, `select count(*) from outbox_score_updates o, relay_shards s
where s.shard = o.shard and o.id <= $1 and (o.xid, o.id) > (s.cursor_xid, s.cursor_id)`, last)
		if err == nil && n > 0 {
			err = fmt.Errorf("%d rows of the outbox wait", n)
		}
		return err
	})
}

func eventually(ctx context.Context, try func() error) error {
	for deadline := time.Now().Add(ready); ; {
		err := try()
		if err == nil {
			return nil
		}
		if time.Now().After(deadline) || ctx.Err() != nil {
			return errors.Join(err, ctx.Err())
		}
		pauseUntil(ctx, time.Now().Add(50*time.Millisecond))
	}
}
