package repair

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/protocol"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Log is the retained part of a topic.
type Log interface {
	Ranges(ctx context.Context) ([]scoreboard.OffsetRange, error)
	// OffsetAt returns the offset of the first record produced at a time or later, or
	// the span's end.
	OffsetAt(ctx context.Context, span scoreboard.OffsetRange, at time.Time) (int64, error)
	Read(ctx context.Context, span scoreboard.OffsetRange, do func([]scoreboard.Record) error) error
}

// ReplayTarget is the ranking that a replay writes.
type ReplayTarget interface {
	States(ctx context.Context, board scoreboard.BoardID, users []scoreboard.UserID) ([]scoreboard.RankedState, error)
	Apply(ctx context.Context, changes []scoreboard.Change) (notLoaded []scoreboard.BoardID, err error)
}

// Replay applies the retained records of a log again, from an offset of one
// partition or from a time. Changes that the ranking already has do nothing, so
// a replay can be repeated and run beside live traffic.
type Replay struct {
	Log         Log
	Ranking     ReplayTarget
	DedupeSince time.Time // older changes are rejected: repeats of them are not recognised

	Partition *int       // nil: all
	Offset    *int64     // in the one partition; either Offset or Time is set
	Time      *time.Time // when records were produced
	Gaps      bool       // offsets have gaps, so the total is unknown
	DryRun    bool       // only count what would change
	Progress  func(*ReplayResult)
}

// ReplayResult counts what a replay read and changed.
type ReplayResult struct {
	Records, Total int64 // read, and to read
	Newer          int64 // changes that the ranking did not have
	Same           int64 // changes that the ranking had, or had a newer one of
	Unreadable     int64 // malformed records
	TooNew         int64 // records with a newer schema
	TooOld         int64 // changes from before DedupeSince
	NotLoaded      int64 // changes of boards that are not loaded; a rebuild applies them
	Elapsed        time.Duration
}

// replayConcurrency is the number of partitions read in parallel.
const replayConcurrency = 4

// Run replays. It changes nothing if part of the requested range is not
// retained.
func (r *Replay) Run(ctx context.Context) (*ReplayResult, error) {
	started := time.Now()
	spans, err := r.spans(ctx)
	if err != nil {
		return nil, err
	}
	for i := range spans {
		if err := r.checkWindow(ctx, spans[i]); err != nil {
			return nil, err
		}
	}
	done := &ReplayResult{}
	for _, s := range spans {
		if !r.Gaps {
			done.Total += s.End - s.First
		}
	}
	var mu sync.Mutex
	g, inner := errgroup.WithContext(ctx)
	g.SetLimit(replayConcurrency)
	for _, span := range spans {
		g.Go(func() error {
			return r.Log.Read(inner, span, func(records []scoreboard.Record) error {
				part, err := r.apply(inner, records)
				if err != nil {
					return err
				}
				mu.Lock()
				defer mu.Unlock()
				done.add(part)
				done.Elapsed = time.Since(started)
				r.Progress(done)
				return nil
			})
		})
	}
	if err := g.Wait(); err != nil {
		return nil, fmt.Errorf("replay: %w", err)
	}
	done.Elapsed = time.Since(started)
	return done, nil
}

// spans returns the ranges to read.
func (r *Replay) spans(ctx context.Context) ([]scoreboard.OffsetRange, error) {
	all, err := r.Log.Ranges(ctx)
	if err != nil {
		return nil, err
	}
	var spans []scoreboard.OffsetRange
	for _, s := range all {
		if r.Partition == nil || s.Partition == *r.Partition {
			spans = append(spans, s)
		}
	}
	if len(spans) == 0 {
		return nil, scoreboard.Invalid(
			"partition",
			"no partition %d; the topic has partitions 0 to %d",
			*r.Partition,
			len(all)-1,
		)
	}
	if r.Offset != nil {
		s := spans[0]
		if *r.Offset < s.First || *r.Offset >= s.End {
			return nil, scoreboard.Invalid(
				"from_offset",
				"offset %d is not retained; partition %d %s",
				*r.Offset,
				s.Partition,
				describeSpan(s),
			)
		}
		spans[0].First = *r.Offset
		return spans[:1], nil
	}
	return r.since(ctx, spans)
}

func describeSpan(s scoreboard.OffsetRange) string {
	if s.First == s.End {
		return "is empty"
	}
	return fmt.Sprintf("retains offsets %d to %d", s.First, s.End-1)
}

// since cuts spans to the records produced at a time or later. It rejects a time
// that a partition no longer retains, instead of replaying only the rest.
func (r *Replay) since(ctx context.Context, spans []scoreboard.OffsetRange) ([]scoreboard.OffsetRange, error) {
	var left []scoreboard.OffsetRange
	for _, s := range spans {
		at, err := r.Log.OffsetAt(ctx, s, *r.Time)
		if err != nil {
			return nil, err
		}
		if at == s.First && s.Trimmed && s.First < s.End {
			first, err := r.first(ctx, s)
			if err != nil {
				return nil, err
			}
			if first.After(*r.Time) {
				return nil, scoreboard.Invalid("from_time", "partition %d is retained from %s only",
					s.Partition, first.UTC().Format(time.RFC3339Nano))
			}
		}
		if s.First = at; s.First < s.End {
			left = append(left, s)
		}
	}
	if len(left) == 0 {
		return nil, scoreboard.Invalid("from_time", "no records at or after %s", r.Time.UTC().Format(time.RFC3339))
	}
	return left, nil
}

// first returns when the first record of a span was produced.
func (r *Replay) first(ctx context.Context, s scoreboard.OffsetRange) (at time.Time, err error) {
	s.End = s.First + 1
	err = r.Log.Read(ctx, s, func(records []scoreboard.Record) error {
		if len(records) > 0 {
			at = records[0].Time
		}
		return nil
	})
	return at, err
}

// checkWindow rejects a span that begins before DedupeSince.
func (r *Replay) checkWindow(ctx context.Context, s scoreboard.OffsetRange) error {
	at, err := r.first(ctx, s)
	if err != nil {
		return err
	}
	if !at.IsZero() && at.Before(r.DedupeSince) {
		return scoreboard.Errorf(
			wire.CodeGone,
			"partition %d: the first record is of %s, but repeats are recognised since %s only; "+
				"older records cannot be replayed",
			s.Partition,
			at.UTC().Format(time.RFC3339),
			r.DedupeSince.UTC().Format(time.RFC3339),
		)
	}
	return nil
}

// apply applies the records that are newer than the ranking.
func (r *Replay) apply(ctx context.Context, records []scoreboard.Record) (*ReplayResult, error) {
	part := &ReplayResult{Records: int64(len(records))}
	boards := make(map[scoreboard.BoardID][]scoreboard.Change, 1)
	for _, record := range records {
		change, beat, err := protocol.DecodeEvent(record.Value)
		switch {
		case errors.Is(err, protocol.ErrNewerSchema):
			part.TooNew++
		case err != nil:
			part.Unreadable++
		case beat != nil: // outdated by now
		case change.RecordedAt.Before(r.DedupeSince):
			part.TooOld++
		default:
			boards[change.Board] = append(boards[change.Board], *change)
		}
	}
	for board, changes := range boards {
		newer, err := r.newer(ctx, board, changes)
		if errors.Is(err, scoreboard.ErrNotLoaded) {
			part.NotLoaded += int64(len(changes))
			continue
		}
		if err != nil {
			return nil, err
		}
		part.Newer += int64(len(newer))
		part.Same += int64(len(changes) - len(newer))
		if r.DryRun || len(newer) == 0 {
			continue
		}
		if _, err := r.Ranking.Apply(ctx, newer); err != nil {
			return nil, err
		}
	}
	return part, nil
}

// newer returns the last change of each user that is newer than the ranking's
// state.
func (r *Replay) newer(
	ctx context.Context,
	board scoreboard.BoardID,
	changes []scoreboard.Change,
) ([]scoreboard.Change, error) {
	last := make(map[scoreboard.UserID]*scoreboard.Change, len(changes))
	users := make([]scoreboard.UserID, 0, len(changes))
	for i := range changes {
		c := &changes[i]
		was, seen := last[c.User]
		if !seen {
			users = append(users, c.User)
		}
		if !seen || c.Revision > was.Revision {
			last[c.User] = c
		}
	}
	ranked, err := r.Ranking.States(ctx, board, users)
	if err != nil {
		return nil, err
	}
	var newer []scoreboard.Change
	for i, user := range users {
		if ranked[i].Raw == "" || last[user].Revision > ranked[i].Revision {
			newer = append(newer, *last[user])
		}
	}
	return newer, nil
}

func (r *ReplayResult) add(part *ReplayResult) {
	r.Records += part.Records
	r.Newer += part.Newer
	r.Same += part.Same
	r.Unreadable += part.Unreadable
	r.TooNew += part.TooNew
	r.TooOld += part.TooOld
	r.NotLoaded += part.NotLoaded
}
