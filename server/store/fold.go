package store

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// folder says what scores come to when events are turned.
type folder struct {
	conn      *pgxpool.Conn
	recording *recording
	turned    map[eventKey]bool     // events that are turned now: true where they do not count any more
	folded    map[scoreKey]standing // of best and latest boards, with all of them turned
}

// turn takes the scores on all boards of an event to where they belong without
// it, or with it again: all boards or none.
func (f *folder) turn(ctx context.Context, in *scoreboard.Increment, hash [16]byte, o *original, reverse bool) ([]scoreboard.Receipt, error) {
	r := f.recording
	to := make([]standing, len(o.boards))
	for i, name := range o.boards {
		board, err := r.openExactly(name)
		if err != nil {
			return nil, err
		}
		s := r.scores[scoreKey{o.user, name}]
		if board.Mode == scoreboard.ModeIncrement {
			delta := o.applied[i]
			if reverse {
				delta = -delta
			}
			to[i] = standing{s.score + scoreboard.Score(delta), true, r.users[o.user].time}
		} else if to[i], err = f.fold(ctx, o.user, board); err != nil {
			return nil, err
		}
		if to[i].had {
			if err := board.Holds(to[i].score); err != nil {
				return nil, err
			}
		}
	}
	receipts := make([]scoreboard.Receipt, len(o.boards))
	for i, name := range o.boards {
		board, err := r.openExactly(name)
		if err != nil {
			return nil, err
		}
		row := *in
		row.Delta = int64(to[i].score - r.scores[scoreKey{o.user, name}].score)
		receipts[i] = r.amendScore(&row, hash, board, to[i])
	}
	return receipts, nil
}

const sqlFold = `select h.event_id, h.delta, h.source = 'admin', coalesce(h.action, ''), h.recorded_at, h.version, h.new_score - h.applied,
    h.previous_score is not null, exists (select from reversals as r where r.user_id = h.user_id and r.event_id = h.event_id)
from user_score_histories as h where h.user_id collate "POSIX" = $1 and h.board_id = $2 order by h.version`

// fold plays again what was submitted to a best or latest board, in its order,
// without what is reversed. Where the first rows are archived it begins with
// the score before those that are left.
func (f *folder) fold(ctx context.Context, user scoreboard.UserID, board *scoreboard.Board) (standing, error) {
	key := scoreKey{user, board.ID}
	if done, ok := f.folded[key]; ok {
		return done, nil
	}
	rows, err := f.conn.Query(ctx, sqlFold, user, board.ID)
	if err != nil {
		return standing{}, err
	}
	to := standing{reached: f.recording.scores[key].reached}
	var event [16]byte
	var delta, version int64
	var before scoreboard.Score
	var admin, had, isReversed bool
	var action string
	var at time.Time
	first := true
	_, err = pgx.ForEachRow(rows, []any{&event, &delta, &admin, &action, &at, &version, &before, &had, &isReversed}, func() error {
		if first && version > 1 {
			to.score, to.had = before, had
		}
		first = false
		if off, turned := f.turned[eventKey{user, event}]; turned {
			isReversed = off
		}
		if isReversed || admin && action != actionAdjust {
			return nil
		}
		next := to.score + scoreboard.Score(delta)
		if !admin {
			next = board.After(to.score, to.had, delta)
		}
		if !to.had || next != to.score {
			to.reached = at.UTC()
		}
		to.score, to.had = next, true
		return nil
	})
	if err != nil {
		return to, err
	}
	if f.folded == nil {
		f.folded = make(map[scoreKey]standing)
	}
	f.folded[key] = to
	return to, nil
}
