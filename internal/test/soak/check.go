package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/scoreboard/scoreboard/client"
)

// check checks everything after the day: each increment counts once, ledger, scores and rankings agree,
// partitions were made and dropped, nothing has grown.
func (s *run) check(ctx context.Context) error {
	r := s.report
	r.Increments, r.Frames = s.play.answered.Load(), s.play.frames.Load()
	if err := s.drained(ctx); err != nil {
		return err
	}
	wrong, shown := 0, ""
	for _, user := range slices.Sorted(maps.Keys(s.play.want)) {
		got, err := s.number(ctx, `select coalesce(sum(score), 0)::bigint from scores
where board_id = 'global' and user_id = $1`, user)
		if err != nil {
			return err
		}
		if want := s.play.want[user]; got != want {
			wrong++
			shown = fmt.Sprintf(", such as %s with %d instead of %d", user, got, want)
		}
	}
	r.require(wrong == 0 && len(s.play.want) > 0, "scores are those of the answered increments",
		"%d users, %d differ%s", len(s.play.want), wrong, shown)
	verified, err := s.play.admin.Verify(ctx, client.JobRequest{All: true}, func(client.JobLine) {})
	if err != nil {
		return err
	}
	v := verified.Verified
	shown = ""
	if len(v.Differences) > 0 {
		d := v.Differences[0]
		shown = fmt.Sprintf(", such as %s of %s on %s: %s", d.Kind, d.UserID, d.Board, d.Detail)
	}
	r.require(v.Wrong == 0 && v.Rows > 0, "verify", "%d users, %d ledger rows, %d differences%s",
		v.Users, v.Rows, v.Wrong, shown)
	for _, chore := range s.chores() {
		r.require(r.Done[chore.what] == hours, chore.what, "%d times, want %d", r.Done[chore.what], hours)
	}
	archived, err := s.number(ctx, `select count(*) from user_score_histories
where user_id like 'retired-%' and version < 3`)
	if err != nil {
		return err
	}
	r.require(archived == 0, "archived rows", "%d are still in the database", archived)
	r.require(r.Frames > 0, "viewers saw frames", "%d", r.Frames)
	if err := errors.Join(s.checkPartitions(ctx), s.checkCompaction(ctx)); err != nil {
		return err
	}
	r.judge()
	return nil
}

// checkPartitions checks that partitions of the outbox of a minute were made all the time, and that old
// ones were dropped.
func (s *run) checkPartitions(ctx context.Context) error {
	unplaced, err := s.number(ctx, `select count(*) from outbox_score_updates_default`)
	if err != nil {
		return err
	}
	s.report.require(unplaced == 0, "outbox partitions made in time", "%d rows in the default partition", unplaced)
	const kept = 10 * time.Minute // five after the end of a minute, and until maintenance runs
	if s.o.duration < kept {
		s.report.require(true, "outbox partitions dropped", "not judged: the first is kept for minutes")
		return nil
	}
	oldest, err := s.number(ctx, `select coalesce(extract(epoch from clock_timestamp() - min(
    to_timestamp(right(c.relname, 12), 'YYYYMMDDHH24MI')::timestamp at time zone 'UTC')), 0)::bigint
from pg_inherits i join pg_class c on c.oid = i.inhrelid
where i.inhparent = 'outbox_score_updates'::regclass and c.relname ~ '[0-9]{12}$'`)
	if err != nil {
		return err
	}
	age := time.Duration(oldest) * time.Second
	s.report.require(age < kept, "outbox partitions dropped", "the oldest is from %s ago; at most %s", age, kept)
	return nil
}

// checkCompaction checks that Kafka compacted the topic of notices: it has few of the records that were
// published since its first offset.
func (s *run) checkCompaction(ctx context.Context) error {
	records, offsets, err := s.nodes.CountRecords(ctx, noticesTopic)
	if err != nil {
		return err
	}
	const enough = 1000 // Kafka looks every 15 s, and leaves the last segment of a partition alone
	if offsets < enough {
		s.report.require(true, "notices compacted", "not judged: %d were published", offsets)
		return nil
	}
	s.report.require(records < offsets/2, "notices compacted", "%d of %d are left; less than half", records, offsets)
	return nil
}
