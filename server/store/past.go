package store

import (
	"context"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// past is what the users of a batch did lately, as far as a rule wants to
// know: nothing is asked where none does.
type past struct {
	trust *scoreboard.IngestPolicy // nil: no rules

	actionUsers, actions []string
	actionWindows        []time.Duration
	done                 map[actionKey][]scoreboard.PastAction // the newest first

	look bool // anomalies want to see rows
	seen map[scoreboard.UserID][]scoreboard.PastRow

	found []scoreboard.Anomaly
}

type actionKey struct {
	user   scoreboard.UserID
	action string
}

const (
	// By PostgreSQL's clock, which is read in a query of its own: an index can be
	// asked for what is behind a constant alone, and would be read whole. No more
	// rows than a rule can count on all boards of an event.
	sqlDone = `select t.n, h.event_id, h.payload_hash, h.recorded_at
from unnest($1::text[], $2::text[], $3::interval[]) with ordinality as t(u, a, w, n) cross join lateral (
    select event_id, payload_hash, recorded_at from user_score_histories
    where user_id = t.u and action = t.a and recorded_at > (select clock_timestamp()) - t.w and source <> 'admin'
    order by recorded_at desc limit $4) as h
order by t.n, h.recorded_at desc`

	sqlSeen = `select t.n, h.event_id, h.board_id, h.delta, h.applied, h.recorded_at, coalesce(h.country, '')
from unnest($1::text[]) with ordinality as t(u, n) cross join lateral (
    select * from user_score_histories
    where user_id collate "POSIX" = t.u and recorded_at > (select clock_timestamp() - $2::interval) and source <> 'admin'
    order by recorded_at desc limit $3) as h
order by t.n, h.recorded_at desc`

	// One open flag for each user and rule.
	sqlFlag = `insert into flags (rule, mode, user_id, board_id, event_id, event_text, delta, detail)
select * from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::uuid[], $6::text[], $7::bigint[], $8::text[])
    as t(rule, mode, user_id, board_id, event_id, event_text, delta, detail) order by user_id, rule
on conflict (user_id, rule) where state = 'open' do update set times = flags.times + 1, last_at = clock_timestamp(),
    mode = excluded.mode, board_id = excluded.board_id, event_id = excluded.event_id, event_text = excluded.event_text,
    delta = excluded.delta, detail = excluded.detail`
)

// newPast says what is to be asked about a batch.
func newPast(trust *scoreboard.IngestPolicy, items []scoreboard.Increment) past {
	p := past{trust: trust}
	if trust == nil {
		return p
	}
	p.look = !trust.Anomalies.Off()
	if len(trust.Rules) == 0 {
		return p
	}
	for i := range items {
		in := &items[i]
		rule, k := trust.Rules.Of(in.Action), actionKey{in.User, in.Action}
		if rule == nil || rule.Window() == 0 {
			continue
		}
		if _, asked := p.done[k]; !asked {
			if p.done == nil {
				p.done = make(map[actionKey][]scoreboard.PastAction)
			}
			p.done[k] = nil
			p.actionUsers, p.actions = append(p.actionUsers, string(in.User)), append(p.actions, in.Action)
			p.actionWindows = append(p.actionWindows, rule.Window())
		}
	}
	return p
}

// queue asks, under the users' locks.
func (p *past) queue(b *pgx.Batch, users []string) {
	if len(p.actions) > 0 {
		b.Queue(sqlDone, p.actionUsers, p.actions, p.actionWindows, scoreboard.MaxQuota*scoreboard.MaxBoards).Query(p.readDone)
	}
	if p.look {
		n, window := p.trust.Anomalies.Rows()
		b.Queue(sqlSeen, users, window, n).Query(func(rows pgx.Rows) error { return p.readSeen(rows, users) })
	}
}

func (p *past) readDone(rows pgx.Rows) error {
	var n int64
	var d scoreboard.PastAction
	var hash []byte
	_, err := pgx.ForEachRow(rows, []any{&n, &d.Event, &hash, &d.At}, func() error {
		d.Hash = [16]byte(hash)
		k := actionKey{scoreboard.UserID(p.actionUsers[n-1]), p.actions[n-1]}
		for _, other := range p.done[k] {
			if other.Event == d.Event {
				return nil // on another board
			}
		}
		p.done[k] = append(p.done[k], d)
		return nil
	})
	return err
}

func (p *past) readSeen(rows pgx.Rows, users []string) error {
	p.seen = make(map[scoreboard.UserID][]scoreboard.PastRow, len(users))
	var n int64
	var s scoreboard.PastRow
	_, err := pgx.ForEachRow(rows, []any{&n, &s.Event, &s.Board, &s.Delta, &s.Applied, &s.At, &s.Country}, func() error {
		user := scoreboard.UserID(users[n-1])
		p.seen[user] = append(p.seen[user], s)
		return nil
	})
	return err
}

// allows says whether the rules let an event be that nobody knows yet.
func (p *past) allows(in *scoreboard.Increment, hash [16]byte, at time.Time) error {
	if p.trust == nil {
		return nil
	}
	if err := p.trust.CheckDelta(in.Delta); err != nil {
		return err
	}
	rule := p.trust.Rules.Of(in.Action)
	if rule == nil {
		return nil
	}
	return rule.Check(in, hash, at, p.done[actionKey{in.User, in.Action}])
}

// looksRight judges an event that is allowed, and refuses it where a rule that
// is enforced finds it wrong.
func (p *past) looksRight(in *scoreboard.Increment, boards []*scoreboard.Board, next []scoreboard.Score, r *recording) error {
	if !p.look {
		return nil
	}
	names, applied := make([]scoreboard.BoardID, len(boards)), make([]int64, len(boards))
	for i, b := range boards {
		names[i], applied[i] = b.ID, int64(next[i]-r.scores[scoreKey{in.User, b.ID}].score)
	}
	at := r.users[in.User].time
	found := p.trust.Anomalies.Detect(in, names, applied, at, p.seen[in.User])
	p.found = append(p.found, found...)
	for _, a := range found {
		if a.Mode == scoreboard.AnomalyEnforce {
			return &scoreboard.Error{Code: scoreboard.CodeRuleViolated, Message: "the event looks wrong (" + a.Rule + ") and is not counted"}
		}
	}
	return nil
}

// add remembers an event that counts, for those behind it in the batch.
func (p *past) add(in *scoreboard.Increment, hash [16]byte, receipts []scoreboard.Receipt) {
	k := actionKey{in.User, in.Action}
	at := receipts[0].RecordedAt
	if _, asked := p.done[k]; asked {
		p.done[k] = append([]scoreboard.PastAction{{Event: in.Event.UUID, Hash: hash, At: at}}, p.done[k]...)
	}
	if !p.look {
		return
	}
	seen := make([]scoreboard.PastRow, 0, len(receipts)+len(p.seen[in.User]))
	for i := range receipts {
		seen = append(seen, scoreboard.PastRow{Event: in.Event.UUID, Board: receipts[i].Board, Delta: in.Delta, Applied: receipts[i].Applied, At: at, Country: in.Country})
	}
	p.seen[in.User] = append(seen, p.seen[in.User]...)
}

// flag writes what waits to be looked at, with what it is about. Of one user
// and rule the last of a batch is kept.
func (p *past) flag(b *pgx.Batch) {
	type key struct {
		user scoreboard.UserID
		rule string
	}
	last := make(map[key]int, len(p.found))
	for i, a := range p.found {
		if a.Mode != scoreboard.AnomalyLog {
			last[key{a.User, a.Rule}] = i
		}
	}
	if len(last) == 0 {
		return
	}
	var rules, modes, users, boards, texts, details []string
	var events [][16]byte
	var deltas []int64
	for _, i := range last {
		a := p.found[i]
		rules, modes, users, boards = append(rules, a.Rule), append(modes, string(a.Mode)), append(users, string(a.User)), append(boards, string(a.Board))
		events, texts, deltas, details = append(events, a.Event.UUID), append(texts, a.Event.Text), append(deltas, a.Delta), append(details, a.Detail)
	}
	b.Queue(sqlFlag, rules, modes, users, boards, events, texts, deltas, details)
}

// lookBack asks what the users of a batch did lately, in a round trip of its
// own: only where a rule wants to know.
func (s *Store) lookBack(ctx context.Context, conn *pgxpool.Conn, r *recording) error {
	if len(r.past.actions) == 0 && !r.past.look {
		return nil
	}
	var b pgx.Batch
	r.past.queue(&b, r.userNames)
	return conn.SendBatch(ctx, &b).Close()
}

// tell counts and logs what looks wrong, once it is committed.
func (s *Store) tell(found []scoreboard.Anomaly) {
	for _, a := range found {
		s.anomalies.WithLabelValues(a.Rule, string(a.Mode)).Inc()
		if a.Mode == scoreboard.AnomalyLog && s.o.Log != nil {
			s.o.Log.Warn("event looks wrong", slog.String("rule", a.Rule), slog.String("user", string(a.User)), slog.String("event", a.Event.Text),
				slog.String("board", string(a.Board)), slog.String("detail", a.Detail))
		}
	}
}
