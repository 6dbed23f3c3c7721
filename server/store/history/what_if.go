package history

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/share"
	"github.com/scoreboard/scoreboard/server/ledger"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store/internal/pg"
)

// The bounds of a what-if. A client waits longer than whatIfTimeout for the next line.
const (
	whatIfTimeout  = 100 * time.Second
	whatIfWait     = 10 * time.Second
	whatIfProgress = 10_000  // rows between two calls of progress
	maxDeciding    = 500_000 // events of all users that can be listed
)

// WhatIf returns how a board would stand if other rules had been in force since a time. It
// reads one snapshot and writes nothing. A node runs one at a time: others are overloaded.
// Progress is called with the number of rows read.
func (m *PastBoards) WhatIf(
	ctx context.Context, board *scoreboard.Board, w *scoreboard.WhatIf, progress func(rows int64),
) (*scoreboard.WhatIfResult, error) {
	release, err := m.takeWhatIf(ctx, board)
	if err != nil {
		return nil, err
	}
	defer release()
	ctx, cancel := context.WithTimeout(ctx, whatIfTimeout)
	defer cancel()
	t := newTrial(board, w)
	err = pgx.BeginTxFunc(ctx, m.db, pg.Snapshot, func(tx pgx.Tx) error {
		if err := t.begin(ctx, tx, m); err != nil {
			return err
		}
		return t.read(ctx, tx, m.maxWhatIf, progress)
	})
	if err != nil {
		return nil, pg.Translate(fmt.Errorf("run a what-if on board %s: %w", board.ID, err))
	}
	t.compare()
	t.noteVoid()
	if err := m.nameEvents(ctx, board.ID, t.result.Changes); err != nil {
		return nil, pg.Translate(fmt.Errorf("run a what-if on board %s: %w", board.ID, err))
	}
	return &t.result, nil
}

// takeWhatIf waits a while for the one what-if that may run; callers take turns.
func (m *PastBoards) takeWhatIf(ctx context.Context, board *scoreboard.Board) (release func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, m.whatIfWait)
	defer cancel()
	release, err = m.whatIf.Take(ctx, share.Claim{Board: string(board.ID)})
	if err != nil {
		return nil, &scoreboard.Error{
			Code: wire.CodeOverloaded, RetryAfter: 10 * time.Second,
			Message: "this node is already running a what-if; try again later",
		}
	}
	return release, nil
}

// nameEvents adds the ids as they were sent, of the events that a result lists.
func (m *PastBoards) nameEvents(
	ctx context.Context, board scoreboard.BoardID, changes []scoreboard.WhatIfChange,
) error {
	var users []string
	var ids [][16]byte
	type event struct {
		user string
		id   [16]byte
	}
	named := make(map[event]*scoreboard.WhatIfEvent)
	for i := range changes {
		for j := range changes[i].Deciding {
			e := &changes[i].Deciding[j]
			users, ids = append(users, string(e.User)), append(ids, e.Event)
			named[event{string(e.User), e.Event}] = e
		}
	}
	rows, err := m.db.Query(ctx, `select h.user_id, h.event_id, h.event_text
from unnest($1::text[], $2::uuid[]) as e(u, id) join user_score_histories as h on h.event_id = e.id and h.user_id = e.u
where h.board_id = $3 and h.source <> 'admin' and h.event_text is not null`, users, ids, board)
	if err != nil {
		return err
	}
	var of event
	var text string
	_, err = pgx.ForEachRow(rows, []any{&of.user, &of.id, &text}, func() error {
		named[of].Text = text
		return nil
	})
	return err
}

// place is a user's standing in a few bytes. Users are known by their index, in the order of
// their ids, so the index also decides between equal standings.
type place struct {
	keys
	reached int64 // microseconds
	exists  bool
}

// trial collects the two standings of a what-if.
type trial struct {
	board  *scoreboard.Board
	ask    *scoreboard.WhatIf
	trial  *ledger.Trial
	starts []scoreboard.Position // when the trial begins, by user
	users  []string              // in order
	now    []place
	then   []place
	digest hash.Hash
	result scoreboard.WhatIfResult

	rejected map[int]int64 // by user
	deciding map[int][]scoreboard.WhatIfEvent
	listed   int // events in deciding
}

func newTrial(board *scoreboard.Board, w *scoreboard.WhatIf) *trial {
	return &trial{
		board: board, ask: w, trial: ledger.NewTrial(board, w), digest: sha256.New(),
		result: scoreboard.WhatIfResult{
			Board: board.ID, Since: w.Since, RejectedBy: make(map[string]int64), Limits: limits(board, w),
		},
		rejected: make(map[int]int64), deciding: make(map[int][]scoreboard.WhatIfEvent),
	}
}

// limits are what the ledger cannot tell.
func limits(board *scoreboard.Board, w *scoreboard.WhatIf) (limits []string) {
	r := &w.Rules
	if r.MaxDelta != nil && *r.MaxDelta > board.MaxDelta {
		limits = append(limits, fmt.Sprintf(
			"max_delta %d is above the board's %d: events that were rejected are not in the ledger",
			*r.MaxDelta, board.MaxDelta))
	}
	if r.MinDelta != nil && *r.MinDelta < board.MinDelta {
		limits = append(limits, fmt.Sprintf(
			"min_delta %d is below the board's %d: events that were rejected are not in the ledger",
			*r.MinDelta, board.MinDelta))
	}
	if r.Mode != "" {
		limits = append(limits, "with another mode, clients might have submitted other deltas")
	}
	return limits
}

// noteVoid notes that a void of the rejected events can reverse fewer: what it skips is known only when it
// runs.
func (t *trial) noteVoid() {
	r := &t.ask.Rules
	if t.result.Rejected == 0 || r.Mode != "" || r.Ties != "" || t.board.Ended() {
		return // nothing can be applied
	}
	note := "a void skips, and counts, events that it cannot reverse: on a frozen board, archived or reversed " +
		"meanwhile, or if the score would leave the bounds of a board"
	if t.board.Status == scoreboard.StatusFrozen {
		note = fmt.Sprintf("board %s is frozen: a void skips all of its events until it is unfrozen", t.board.ID)
	}
	t.result.Limits = append(t.result.Limits, note)
}

// begin reads the standings now, and those when the trial begins.
func (t *trial) begin(ctx context.Context, tx pgx.Tx, m *PastBoards) error {
	_, err := tx.Exec(ctx, `select set_config('statement_timeout', $1, true), set_config('work_mem', '64MB', true),
    set_config('jit', 'off', true)`, fmt.Sprint(whatIfTimeout.Milliseconds()))
	if err != nil {
		return err
	}
	if err := tx.QueryRow(ctx, `select clock_timestamp()`).Scan(&t.result.AsOf); err != nil {
		return err
	}
	t.result.AsOf = t.result.AsOf.UTC()
	rows, err := tx.Query(ctx, `select user_id, order_key, sub_key, reached_at from scores
where board_id = $1 and not hidden and not empty order by user_id limit $2`, t.board.ID, scoreboard.MaxWhatIfUsers+1)
	if err != nil {
		return err
	}
	if err := pg.ForEach(rows, func() error {
		var user string
		var reached time.Time
		p := place{exists: true}
		err := rows.Scan(&user, &p.key, &p.subKey, &reached)
		p.reached = reached.UnixMicro()
		t.users, t.now = append(t.users, user), append(t.now, p)
		return err
	}); err != nil {
		return err
	}
	if len(t.users) > scoreboard.MaxWhatIfUsers {
		return scoreboard.Invalid("board", "board %s has more than %d users", t.board.ID, scoreboard.MaxWhatIfUsers)
	}
	t.result.Users, t.then = int64(len(t.users)), slices.Clone(t.now)
	// Everything before the beginning: the microsecond is the unit of recorded times.
	at := scoreboard.PastTime{At: t.ask.Since.Add(-time.Microsecond), Now: true}
	v, err := m.load(ctx, tx, t.board, at)
	if err != nil {
		return err
	}
	if v.total > scoreboard.MaxWhatIfUsers {
		return scoreboard.Invalid("board", "board %s had more than %d users", t.board.ID, scoreboard.MaxWhatIfUsers)
	}
	lowest := &scoreboard.Position{Key: -scoreboard.MaxScore - 1}
	if t.starts, err = v.following(ctx, lowest, int(v.total)+1); err != nil {
		return err
	}
	slices.SortFunc(t.starts, func(p, q scoreboard.Position) int { return cmp.Compare(p.User, q.User) })
	return nil
}

const sqlTrial = `select h.user_id, h.event_id, h.delta, h.source = 'admin', coalesce(h.action, ''), h.recorded_at,
    h.board_id, h.applied, coalesce(h.key_id, ''), coalesce(h.country, ''), r.user_id is not null,
    coalesce(h.subscore, 0)
from user_score_histories as h
left join reversals as r on r.user_id = h.user_id and r.event_id = h.event_id and r.internal = (h.source = 'admin')
where h.recorded_at >= $2 and ($3 or h.board_id = $1)
order by h.user_id, h.recorded_at, h.board_id <> $1, h.version limit $4`

// read judges the rows of the ledger, one user after another.
func (t *trial) read(ctx context.Context, tx pgx.Tx, limit int, progress func(rows int64)) error {
	before, boards := t.trial.Context()
	if err := t.checkContext(ctx, tx, before); err != nil {
		return err
	}
	rows, err := tx.Query(ctx, sqlTrial, t.board.ID, t.ask.Since.Add(-before), boards, limit+1)
	if err != nil {
		return err
	}
	var n int64
	var user, current string
	at := -1 // index of the current user; -1: not on the board
	var r ledger.TrialRow
	to := []any{
		&user, &r.Event, &r.Delta, &r.Admin, &r.Action, &r.At, &r.Board, &r.Applied, &r.Key, &r.Country, &r.Reversed,
		&r.Subscore,
	}
	if _, err := pgx.ForEachRow(rows, to, func() error {
		if n++; n%whatIfProgress == 0 {
			progress(n)
		}
		if user != current || n == 1 {
			t.finish(at)
			current, at = user, t.start(user)
		}
		if at >= 0 {
			t.add(at, &r)
		}
		return nil
	}); err != nil {
		return err
	}
	if n > int64(limit) {
		return scoreboard.Invalid("since", "more than %d events must be read; choose a later since", limit)
	}
	t.finish(at)
	t.result.Digest = hex.EncodeToString(t.digest.Sum(nil))
	return nil
}

// checkContext notes whether events that decide about the first ones are archived.
func (t *trial) checkContext(ctx context.Context, tx pgx.Tx, before time.Duration) error {
	if before == 0 {
		return nil
	}
	var begins *time.Time
	if err := tx.QueryRow(ctx, `select min(to_date(right(c.relname, 8), 'YYYYMMDD')::timestamp) at time zone 'UTC'
from pg_inherits i join pg_class c on c.oid = i.inhrelid
where i.inhparent = 'user_score_histories'::regclass and c.relname ~ '^user_score_histories_[0-9]{8}$'`,
	).Scan(&begins); err != nil {
		return err
	}
	if begins != nil && t.board.Created.Before(*begins) && t.ask.Since.Add(-before).Before(*begins) {
		t.result.Limits = append(t.result.Limits, fmt.Sprintf(
			"events before %s are archived: cooldown and anomalies do not see them", begins.UTC().Format(time.RFC3339)))
	}
	return nil
}

// start begins with the rows of a user, and returns the user's index, −1 if the board does not
// rank the user now.
func (t *trial) start(user string) int {
	at, found := slices.BinarySearch(t.users, user)
	if !found {
		return -1
	}
	var had ledger.Standing
	if i, found := slices.BinarySearchFunc(t.starts, scoreboard.UserID(user),
		func(p scoreboard.Position, u scoreboard.UserID) int { return cmp.Compare(p.User, u) }); found {
		p := &t.starts[i]
		had = ledger.Standing{Pair: t.board.Pair(p.Key, p.SubKey), Exists: true, ReachedAt: p.ReachedAt}
	}
	t.trial.Begin(scoreboard.UserID(t.users[at]), had)
	return at
}

// add judges a row of the user with an index.
func (t *trial) add(at int, r *ledger.TrialRow) {
	evaluated, rule, detail := t.trial.Add(r)
	if evaluated {
		t.result.Evaluated++
	}
	if rule == "" {
		return
	}
	t.result.Rejected++
	t.result.RejectedBy[rule]++
	t.rejected[at]++
	t.digest.Write([]byte(t.users[at]))
	t.digest.Write([]byte{0}) // in no user id
	t.digest.Write(r.Event[:])
	e := scoreboard.WhatIfEvent{
		User: scoreboard.UserID(t.users[at]), Event: r.Event, Delta: r.Delta, At: r.At.UTC(), Rule: rule,
		Detail: detail,
	}
	if t.rejected[at] <= scoreboard.MaxWhatIfDeciding && t.listed < maxDeciding {
		t.listed++
		t.deciding[at] = append(t.deciding[at], e)
	}
	if t.ask.Keep && len(t.result.Events) < scoreboard.MaxWhatIfVoid {
		e.Detail = ""
		t.result.Events = append(t.result.Events, e)
	}
}

// finish stores the standing of the user with an index. If nothing is rejected, it is the one
// of now: the ledger does not have every time to which a correction returned a score.
func (t *trial) finish(at int) {
	if at < 0 || !t.trial.Diverged() {
		return
	}
	to := t.trial.Standing()
	t.then[at] = place{keysOn(t.board, to.Pair), to.ReachedAt.UnixMicro(), to.Exists}
}

// ranks returns the rank of each user, from 1; 0: none.
func ranks(places []place, ties scoreboard.Ties) []int32 {
	order := make([]int32, 0, len(places))
	for i := range places {
		if places[i].exists {
			order = append(order, int32(i))
		}
	}
	slices.SortFunc(order, func(i, j int32) int {
		p, q := &places[i], &places[j]
		reached := cmp.Compare(p.reached, q.reached)
		if ties == scoreboard.TiesLast {
			reached = -reached
		}
		return cmp.Or(p.keys.compare(q.keys), reached, cmp.Compare(i, j))
	})
	ranks := make([]int32, len(places))
	for n, i := range order {
		ranks[i] = int32(n + 1)
		if ties == scoreboard.TiesShared && n > 0 && places[i].keys == places[order[n-1]].keys {
			ranks[i] = ranks[order[n-1]]
		}
	}
	return ranks
}

// compare derives what changes between the two standings.
func (t *trial) compare() {
	before, after := ranks(t.now, t.board.Ties), ranks(t.then, cmp.Or(t.ask.Rules.Ties, t.board.Ties))
	r := &t.result
	r.Losers = int64(len(t.rejected))
	var changed []int32
	for i := range before {
		switch {
		case after[i] == 0:
			r.Left++
		case after[i] < before[i]:
			r.Up++
		case after[i] > before[i]:
			r.Down++
		case t.now[i].keys == t.then[i].keys:
			continue
		}
		changed = append(changed, int32(i))
	}
	r.Changed = int64(len(changed))
	best := func(i int32) int32 {
		if after[i] == 0 {
			return before[i]
		}
		return min(before[i], after[i])
	}
	slices.SortFunc(changed, func(i, j int32) int {
		return cmp.Or(cmp.Compare(best(i), best(j)), cmp.Compare(before[i], before[j]))
	})
	for _, i := range changed[:min(len(changed), t.ask.Limit)] {
		c := scoreboard.WhatIfChange{
			User: scoreboard.UserID(strings.Clone(t.users[i])), Rank: int64(before[i]), NewRank: int64(after[i]),
			Rejected: t.rejected[int(i)], Deciding: t.deciding[int(i)],
		}
		now := t.board.Pair(t.now[i].key, t.now[i].subKey)
		c.Score, c.Subscore = now.Score, now.Subscore
		if t.then[i].exists {
			then := t.board.Pair(t.then[i].key, t.then[i].subKey)
			c.NewScore, c.NewSubscore = then.Score, then.Subscore
		}
		r.Changes = append(r.Changes, c)
	}
}
