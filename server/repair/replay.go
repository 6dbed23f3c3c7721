package repair

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/scoreboard/scoreboard/server/protocol"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Record is one record of a log.
type Record struct {
	Partition int
	Offset    int64
	Value     []byte
	Time      time.Time // when it was produced
}

// Log is a topic as it is kept.
type Log interface {
	Spans(ctx context.Context) ([]scoreboard.Extent, error)
	// At is the offset of the first record of a time or later, or the span's end.
	At(ctx context.Context, span scoreboard.Extent, at time.Time) (int64, error)
	Read(ctx context.Context, span scoreboard.Extent, do func([]Record) error) error
}

// Applied is the ranking as a replay changes it.
type Applied interface {
	States(ctx context.Context, board scoreboard.BoardID, users []scoreboard.UserID) ([]scoreboard.RankedState, error)
	Apply(ctx context.Context, changes []scoreboard.Change) (cold []scoreboard.BoardID, err error)
}

// Replay applies again what a log holds, from an offset of one partition or
// from a time. Whatever the ranking has already does nothing, so it may be
// repeated and run beside live traffic.
type Replay struct {
	Log     Log
	Ranking Applied
	Known   time.Time // repeats are known from here on: nothing older is replayed

	Partition *int       // of all where it is nil
	Offset    *int64     // of the one partition
	Time      *time.Time // one of both is set
	Gaps      bool       // offsets have gaps, so how much there is to read is not known
	Dry       bool       // only count what would change
	Progress  func(*Replayed)
}

// Replayed says what a replay has come by.
type Replayed struct {
	Records, Total int64 // read, and to read
	Newer          int64 // changes that the ranking did not have
	Same           int64 // changes that it had, or something newer
	Unreadable     int64 // records that are malformed
	TooNew         int64 // records of a later build
	TooOld         int64 // changes from before repeats are known
	NotLoaded      int64 // changes of boards that are not loaded: a rebuild includes them
	Took           time.Duration
}

// replayAtOnce is how many partitions are read side by side.
const replayAtOnce = 4

// Run replays. Nothing is changed where what is asked for is not there.
func (r *Replay) Run(ctx context.Context) (*Replayed, error) {
	started := time.Now()
	spans, err := r.spans(ctx)
	if err != nil {
		return nil, err
	}
	for i := range spans {
		if err := r.inWindow(ctx, spans[i]); err != nil {
			return nil, err
		}
	}
	done := &Replayed{}
	for _, s := range spans {
		if !r.Gaps {
			done.Total += s.End - s.First
		}
	}
	var mu sync.Mutex
	g, inner := errgroup.WithContext(ctx)
	g.SetLimit(replayAtOnce)
	for _, span := range spans {
		g.Go(func() error {
			return r.Log.Read(inner, span, func(records []Record) error {
				part, err := r.take(inner, records)
				if err != nil {
					return err
				}
				mu.Lock()
				defer mu.Unlock()
				done.add(part)
				done.Took = time.Since(started)
				r.Progress(done)
				return nil
			})
		})
	}
	if err := g.Wait(); err != nil {
		return nil, fmt.Errorf("replay: %w", err)
	}
	done.Took = time.Since(started)
	return done, nil
}

// spans is what there is to read, or why there is nothing.
func (r *Replay) spans(ctx context.Context) ([]scoreboard.Extent, error) {
	all, err := r.Log.Spans(ctx)
	if err != nil {
		return nil, err
	}
	var spans []scoreboard.Extent
	for _, s := range all {
		if r.Partition == nil || s.Partition == *r.Partition {
			spans = append(spans, s)
		}
	}
	if len(spans) == 0 {
		return nil, scoreboard.Invalid("partition", "there is no partition %d; there are 0 to %d", *r.Partition, len(all)-1)
	}
	if r.Offset != nil {
		s := spans[0]
		if *r.Offset < s.First || *r.Offset >= s.End {
			return nil, scoreboard.Invalid("from_offset", "partition %d does not hold offset %d; %s", s.Partition, *r.Offset, holds(s))
		}
		spans[0].First = *r.Offset
		return spans[:1], nil
	}
	return r.since(ctx, spans)
}

func holds(s scoreboard.Extent) string {
	if s.First == s.End {
		return "it is empty"
	}
	return fmt.Sprintf("it holds %d to %d", s.First, s.End-1)
}

// since cuts spans to what was produced at a time or later. What a partition
// has forgotten of that cannot be replayed, and that is said instead of
// replaying the rest.
func (r *Replay) since(ctx context.Context, spans []scoreboard.Extent) ([]scoreboard.Extent, error) {
	var left []scoreboard.Extent
	for _, s := range spans {
		at, err := r.Log.At(ctx, s, *r.Time)
		if err != nil {
			return nil, err
		}
		if at == s.First && s.Forgot && s.First < s.End {
			first, err := r.first(ctx, s)
			if err != nil {
				return nil, err
			}
			if first.After(*r.Time) {
				return nil, scoreboard.Invalid("from_time", "partition %d begins at %s: what was before is forgotten", s.Partition, first.UTC().Format(time.RFC3339Nano))
			}
		}
		if s.First = at; s.First < s.End {
			left = append(left, s)
		}
	}
	if len(left) == 0 {
		return nil, scoreboard.Invalid("from_time", "nothing was produced at %s or later", r.Time.UTC().Format(time.RFC3339))
	}
	return left, nil
}

// first is when the first record of a span was produced.
func (r *Replay) first(ctx context.Context, s scoreboard.Extent) (at time.Time, err error) {
	s.End = s.First + 1
	err = r.Log.Read(ctx, s, func(records []Record) error {
		if len(records) > 0 {
			at = records[0].Time
		}
		return nil
	})
	return at, err
}

// inWindow refuses a span that begins before repeats are known.
func (r *Replay) inWindow(ctx context.Context, s scoreboard.Extent) error {
	at, err := r.first(ctx, s)
	if err != nil {
		return err
	}
	if !at.IsZero() && at.Before(r.Known) {
		return scoreboard.Errorf(scoreboard.CodeGone, "partition %d is of %s from there on: repeats are known since %s only, and nothing older is replayed",
			s.Partition, at.UTC().Format(time.RFC3339), r.Known.UTC().Format(time.RFC3339))
	}
	return nil
}

// take applies what is news of some records.
func (r *Replay) take(ctx context.Context, records []Record) (*Replayed, error) {
	part := &Replayed{Records: int64(len(records))}
	boards := make(map[scoreboard.BoardID][]scoreboard.Change, 1)
	for _, record := range records {
		change, beat, err := protocol.DecodeEvent(record.Value)
		switch {
		case errors.Is(err, protocol.ErrNewerSchema):
			part.TooNew++
		case err != nil:
			part.Unreadable++
		case beat != nil: // says nothing any more
		case change.RecordedAt.Before(r.Known):
			part.TooOld++
		default:
			boards[change.Board] = append(boards[change.Board], *change)
		}
	}
	for board, changes := range boards {
		news, err := r.news(ctx, board, changes)
		if errors.Is(err, scoreboard.ErrNotLoaded) {
			part.NotLoaded += int64(len(changes))
			continue
		}
		if err != nil {
			return nil, err
		}
		part.Newer += int64(len(news))
		part.Same += int64(len(changes) - len(news))
		if r.Dry || len(news) == 0 {
			continue
		}
		if _, err := r.Ranking.Apply(ctx, news); err != nil {
			return nil, err
		}
	}
	return part, nil
}

// news returns those changes of a board that are newer than what the ranking
// keeps, the last of each user.
func (r *Replay) news(ctx context.Context, board scoreboard.BoardID, changes []scoreboard.Change) ([]scoreboard.Change, error) {
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
	kept, err := r.Ranking.States(ctx, board, users)
	if err != nil {
		return nil, err
	}
	var news []scoreboard.Change
	for i, user := range users {
		if kept[i].Raw == "" || last[user].Revision > kept[i].Revision {
			news = append(news, *last[user])
		}
	}
	return news, nil
}

func (r *Replayed) add(part *Replayed) {
	r.Records += part.Records
	r.Newer += part.Newer
	r.Same += part.Same
	r.Unreadable += part.Unreadable
	r.TooNew += part.TooNew
	r.TooOld += part.TooOld
	r.NotLoaded += part.NotLoaded
}
