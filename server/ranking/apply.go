package ranking

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/scoreboard/scoreboard/server/ranking/partitions"
	"github.com/scoreboard/scoreboard/server/ranking/piece"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// maxApplied is the maximum number of changes per script call: Lua cannot unpack
// more than a few thousand arguments.
const maxApplied = 1000

// applier applies changes.
type applier struct {
	*piece.Conn
	layouts        *partitions.Layouts
	partitions     *partitions.Boards
	broken         *remover
	witness        *witness
	apply, forward *redis.Script
	quiet          *redis.Script // apply, for a partition: it publishes nothing
}

func newApplier(
	c *piece.Conn, of *partitions.Layouts, parts *partitions.Boards, broken *remover, w *witness,
) *applier {
	return &applier{
		Conn: c, layouts: of, partitions: parts, broken: broken, witness: w,
		apply:   redis.NewScript(piece.LuaWidth + piece.LuaPut + piece.LuaCounts + luaApply),
		forward: redis.NewScript(piece.LuaWidth + piece.LuaPut + luaForward),
		quiet:   redis.NewScript(piece.LuaWidth + piece.LuaPut + piece.LuaQuiet + piece.LuaCounts + luaApply),
	}
}

// Apply applies changes, of any boards and in any order, that are newer than the
// ranking's state. It returns the boards that are not loaded: their changes are in
// the store, and a rebuild started from now on includes them. Changes of a history
// that the store has lost are skipped.
//
// When it returns, the merged top of a board in partitions includes the changes, so that a
// heartbeat recorded afterwards is true of it.
func (r *applier) Apply(
	ctx context.Context, changes []scoreboard.Change,
) (notLoaded []scoreboard.BoardID, err error) {
	if err := r.witness.ask(ctx); err != nil {
		return nil, err
	}
	defer r.witness.write()()
	moves := 0
	for len(changes) > 0 {
		n := min(len(changes), maxApplied)
		b := applying{changes: changes[:n]}
		if err := r.applyBatch(ctx, &b); err != nil {
			return nil, err
		}
		for _, board := range b.notLoaded {
			if !slices.Contains(notLoaded, board) {
				notLoaded = append(notLoaded, board)
			}
		}
		if b.moved {
			if moves++; moves > maxMoves {
				if len(b.broken) == 0 {
					return nil, piece.Unavailable("the ranking is unavailable", partitions.ErrMoving)
				}
				if err := r.setBrokenAside(ctx, &b); err != nil {
					return nil, err
				}
				notLoaded = append(notLoaded, b.notLoaded...)
				moves = 0
			}
			select {
			case <-time.After(partitions.ReadPause << moves):
			case <-ctx.Done():
				return nil, piece.Translate(ctx.Err())
			}
		}
		changes = append(b.rest, changes[n:]...)
	}
	return notLoaded, nil
}

// maxMoves bounds how often a call looks again where boards are.
const maxMoves = 5

// applying is a batch while it is applied.
type applying struct {
	changes   []scoreboard.Change
	rest      []scoreboard.Change          // to be applied again
	moved     bool                         // a board was laid out otherwise than expected
	broken    map[scoreboard.BoardID]error // or a key of it is of another type, or malformed
	notLoaded []scoreboard.BoardID
}

func (r *applier) applyBatch(ctx context.Context, b *applying) error {
	pieces, traces := r.byPiece(b.changes)
	names := slices.Sorted(maps.Keys(pieces))
	fresh := r.Freshness(ctx, names) // before the changes, so that a board includes all that it claims
	answers := make([]*redis.Cmd, len(names))
	_ = r.Pipelined(ctx, func(run func(*redis.Script, []string, ...any) *redis.Cmd) { // each answer has its own error
		for i, name := range names {
			board, _, _ := piece.PartOf(name)
			answers[i] = run(r.applyTo(name), r.applyKeys(name),
				applyArguments(board, pieces[name], fresh[i], traces[board], "")...)
		}
	})
	var err error
	merges := make(map[piece.Layout]*partitions.Merging)
	merge := func(name scoreboard.BoardID, changes piece.UserChanges, applied int64, forwarded bool) {
		if board, count, divided := piece.PartOf(name); divided {
			l := piece.Layout{Board: board, Count: count}
			if merges[l] == nil {
				merges[l] = &partitions.Merging{Trace: traces[board], Forwarded: true}
			}
			merges[l].Add(changes, applied, forwarded)
		}
	}
	for i, name := range names {
		board, count, divided := piece.PartOf(name)
		applied, elsewhere, answerErr := parseApplied(answers[i])
		if elsewhere != "" {
			if answerErr = r.forwardTo(ctx, board, elsewhere, pieces[name], b, merge); answerErr == nil {
				applied, elsewhere, answerErr = parseApplied(r.applyTo(name).Run(ctx, r.Redis, r.applyKeys(name),
					applyArguments(board, pieces[name], fresh[i], traces[board], elsewhere)...))
			}
		}
		moved := elsewhere != "" // another rebuild has begun since
		if piece.IsBroken(answerErr) || divided && answerErr == nil && !moved && applied == -1 {
			wrong := answerErr
			moved, answerErr = r.layouts.HasMoved(ctx, board, count)
			wrong = cmp.Or(wrong, answerErr)
			if piece.IsBroken(wrong) && (answerErr == nil || piece.IsBroken(answerErr)) {
				b.fail(board, wrong)
				moved, answerErr = true, nil
			}
		}
		switch {
		case answerErr != nil:
			err = piece.Translate(fmt.Errorf("apply %d changes to board %s: %w", len(pieces[name]), board, answerErr))
		case moved:
			b.moved = true
			b.again(board, pieces[name], time.Time{})
		case applied < -1:
			b.again(board, pieces[name], time.UnixMicro(-applied))
		case applied < 0:
			b.notLoaded = append(b.notLoaded, board)
		default:
			merge(name, pieces[name], applied, false)
		}
	}
	if err != nil {
		return err
	}
	for l, m := range merges {
		err := r.partitions.MergeTop(ctx, l, m)
		switch {
		case err == nil:
			continue
		case piece.IsBroken(err):
			b.fail(l.Board, err)
			for _, changes := range m.Changes {
				b.again(l.Board, changes, time.Time{})
			}
			continue
		case !errors.Is(err, scoreboard.ErrNotLoaded):
			return err
		case m.Forwarded:
			continue // not live yet: the rebuild merges the top when it is
		}
		moved, err := r.layouts.HasMoved(ctx, l.Board, l.Count)
		switch {
		case err != nil:
			return err
		case moved:
			b.moved = true
			for _, changes := range m.Changes {
				b.again(l.Board, changes, time.Time{})
			}
		default:
			b.notLoaded = append(b.notLoaded, l.Board)
		}
	}
	return nil
}

// applyKeys are the keys of the script that applies changes to a piece of a board.
func (r *applier) applyKeys(name scoreboard.BoardID) []string {
	return append(r.Keys.Both(name), r.Keys.Fresh(r.Keys.Bucket(name)))
}

// applyTo is the script that applies changes to a piece of a board.
func (r *applier) applyTo(name scoreboard.BoardID) *redis.Script {
	if piece.IsPart(name) {
		return r.quiet
	}
	return r.apply
}

// parseApplied reads what apply.lua returned: how many changes were newer, or where they have
// to be applied first.
func parseApplied(answer *redis.Cmd) (applied int64, elsewhere string, err error) {
	value, err := answer.Result()
	if err != nil {
		return 0, "", err
	}
	switch v := value.(type) {
	case int64:
		return v, "", nil
	case string:
		return 0, v, nil
	}
	return 0, "", fmt.Errorf("the reply %v is malformed", value)
}

// again has the batch's changes of some users of a board applied again, also those that
// newer ones replace in their piece, without those recorded before since.
func (b *applying) again(board scoreboard.BoardID, users piece.UserChanges, since time.Time) {
	for i := range b.changes {
		c := &b.changes[i]
		if c.Board == board && users[c.User] != nil && !c.RecordedAt.Before(since) {
			b.rest = append(b.rest, *c)
		}
	}
}

func applyArguments(
	board scoreboard.BoardID, changes piece.UserChanges, fresh *piece.Freshness, trace, forwarded string,
) []any {
	args := make([]any, 8, 8+6*len(changes))
	var updated, oldest time.Time
	moved := make([]byte, 0, 48*len(changes))
	complete := piece.AppendAsOf(nil, fresh.AsOf)
	hidden := false
	for _, c := range changes {
		args = piece.AppendChange(args, c)
		moved = piece.AppendMoved(moved, c)
		complete = piece.AppendReached(complete, c)
		hidden = hidden || c.Hidden
		if c.RecordedAt.After(updated) {
			updated = c.RecordedAt
		}
		if oldest.IsZero() || c.RecordedAt.Before(oldest) {
			oldest = c.RecordedAt
		}
	}
	switch {
	case hidden:
		moved = append(moved, piece.Hides...)
	case trace != "":
		moved = append(append(append(moved, piece.Traced...), trace...), ' ')
	}
	if hidden || fresh.AsOf.IsZero() {
		complete = nil // readers read the board again
	}
	args[0], args[1], args[2], args[3] = piece.Channel, string(board), updated.UnixMicro(), moved
	args[4], args[5], args[6], args[7] = oldest.UnixMicro(), complete, fresh.Server+"@"+fresh.Beat, forwarded
	return args
}

// byPiece keeps the newest change of each user on each board, or in each partition of one,
// and the trace of one sampled change on each board that has any.
func (r *applier) byPiece(changes []scoreboard.Change) (
	pieces map[scoreboard.BoardID]piece.UserChanges, traces map[scoreboard.BoardID]string,
) {
	pieces = make(map[scoreboard.BoardID]piece.UserChanges, 1)
	for i := range changes {
		c := &changes[i]
		name := c.Board
		if l, divided := r.layouts.Known(c.Board); divided {
			name = l.Part(l.Of(c.User))
		}
		users := pieces[name]
		if users == nil {
			users = make(piece.UserChanges, len(changes))
			pieces[name] = users
		}
		if had := users[c.User]; had == nil || c.Revision > had.Revision {
			users[c.User] = c
		}
		if c.Trace != "" {
			if traces == nil {
				traces = make(map[scoreboard.BoardID]string)
			}
			traces[c.Board] = c.Trace
		}
	}
	return pieces, traces
}
