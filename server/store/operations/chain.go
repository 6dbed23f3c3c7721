package operations

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store/internal/pg"
)

// sealWait bounds the wait for another sealer, or for an erasure.
const sealWait = time.Second

// Seal seals at most that many committed rows in the order of (xid, id), and returns
// the head of the chain and how many it sealed. Rows that a running transaction could
// still precede wait. Any number of processes may call it: the database lets one work
// at a time, and the next one continues from its head.
func (a *AuditLog) Seal(ctx context.Context, limit int) (head scoreboard.AuditSeal, sealed int, err error) {
	err = a.db.TxWithLockTimeout(ctx, sealWait, func(tx pgx.Tx) error {
		return tx.QueryRow(ctx, `select seq, hash, sealed from seal_audit($1)`, limit).
			Scan(&head.Seq, &head.Hash, &sealed)
	})
	if err != nil {
		return head, 0, pg.Translate(fmt.Errorf("seal the audit trail: %w", err))
	}
	return head, sealed, nil
}

const (
	// An erased target is genuine if the erasure is in the trail, too.
	sqlChain = `select s.seq, s.audit_id, s.origin_key, s.origin_digest, s.target_key, s.target_digest, s.hash,
    a.id is not null, coalesce(a.xid::text, ''), coalesce((extract(epoch from a.at) * 1000000)::bigint, 0),
    a.who, a.address, a.user_agent, a.request_id, a.action, a.target, a.reason, a.detail::text,
    a.target like 'user:erased-%' and exists (select from audit_log as e
        where e.target = a.target and e.action = 'user.erase')
from audit_seals as s left join audit_log as a on a.id = s.audit_id order by s.seq`

	sqlUnsealed = `select count(q.audit_id), min(a.at), h.seq, h.hash,
    (select u.audit_id from audit_unsealed as u where not exists (select from audit_log where id = u.audit_id)
        order by 1 limit 1),
    (select l.id from audit_log as l where not exists (select from audit_unsealed where audit_id = l.id)
        and not exists (select from audit_seals where audit_id = l.id) order by 1 limit 1)
from audit_head as h left join (audit_unsealed as q join audit_log as a on a.id = q.audit_id) on true
group by h.seq, h.hash`
)

// errBroken ends the walk at the first break.
var errBroken = errors.New("the chain is broken")

// VerifyChain walks the whole chain, in one snapshot and in constant memory, and computes
// every hash again. known is a head from a server's log or from an earlier check, nil for
// none: without it, a chain that somebody with the owner's role has recomputed, or cut
// off at its end, looks intact.
func (a *AuditLog) VerifyChain(ctx context.Context, known *scoreboard.AuditSeal) (*scoreboard.AuditChain, error) {
	var chain *scoreboard.AuditChain
	err := pgx.BeginTxFunc(ctx, a.db, pg.Snapshot, func(tx pgx.Tx) error {
		w := walk{known: known}
		w.chain.Head = emptyChain()
		chain = &w.chain
		rows, err := tx.Query(ctx, sqlChain)
		if err != nil {
			return err
		}
		if err := pg.ForEach(rows, func() error { return w.next(rows) }); err != nil {
			return err
		}
		return w.end(ctx, tx)
	})
	if err != nil && !errors.Is(err, errBroken) {
		return nil, pg.Translate(fmt.Errorf("verify the audit trail: %w", err))
	}
	return chain, nil
}

// emptyChain is the head before the first seal.
func emptyChain() scoreboard.AuditSeal {
	sum := sha256.Sum256(nil)
	return scoreboard.AuditSeal{Hash: sum[:]}
}

// walk is a check of the chain under way.
type walk struct {
	chain scoreboard.AuditChain
	known *scoreboard.AuditSeal
}

// broken records the first break.
func (w *walk) broken(seq, id int64, problem string) error {
	w.chain.Break = &scoreboard.AuditBreak{Seq: seq, ID: id, Problem: problem}
	return errBroken
}

// sealedRow is a seal with its audit row.
type sealedRow struct {
	seq, id                                             int64
	originKey, originDigest, targetKey, targetDigest    []byte
	hash                                                []byte
	there, erased                                       bool
	xid                                                 string
	micros                                              int64
	who, address, agent, request, action, target, cause *string
	detail                                              *string
}

// next checks the seal that rows is at.
func (w *walk) next(rows pgx.Rows) error {
	var r sealedRow
	var erased *bool
	err := rows.Scan(&r.seq, &r.id, &r.originKey, &r.originDigest, &r.targetKey, &r.targetDigest, &r.hash, &r.there,
		&r.xid, &r.micros, &r.who, &r.address, &r.agent, &r.request, &r.action, &r.target, &r.cause, &r.detail, &erased)
	if err != nil {
		return err
	}
	r.erased = erased != nil && *erased
	if problem := w.check(&r); problem != "" {
		return w.broken(r.seq, r.id, problem)
	}
	w.chain.Head = scoreboard.AuditSeal{Seq: r.seq, Hash: r.hash}
	if w.known != nil && w.known.Seq == r.seq && !bytes.Equal(w.known.Hash, r.hash) {
		return w.broken(r.seq, r.id, "the chain was recomputed: this place had another hash")
	}
	return nil
}

// check returns what is wrong with a row, "" if it is what was sealed.
func (w *walk) check(r *sealedRow) string {
	last := w.chain.Head
	if r.seq != last.Seq+1 {
		return fmt.Sprintf("seal %d is missing", last.Seq+1)
	}
	if !r.there {
		return "the row was deleted"
	}
	if !bytes.Equal(r.originDigest, digest(r.originKey, r.who, r.address, r.agent)) {
		return "who, address or user agent was changed"
	}
	if !bytes.Equal(r.targetDigest, digest(r.targetKey, r.target)) && !r.erased {
		return "the target was changed, and not by an erasure"
	}
	if !bytes.Equal(r.hash, r.chained(last.Hash)) {
		return "the row or its place was changed"
	}
	return ""
}

// chained returns the hash of a row after another hash. The function seal_audit of the
// database computes the same.
func (r *sealedRow) chained(last []byte) []byte {
	seq, id, micros := strconv.FormatInt(r.seq, 10), strconv.FormatInt(r.id, 10), strconv.FormatInt(r.micros, 10)
	b := bytes.Clone(last)
	for _, f := range []*string{&seq, &id, &r.xid, &micros, r.request, r.action, r.cause, r.detail} {
		b = appendField(b, f)
	}
	sum := sha256.Sum256(append(append(b, r.originDigest...), r.targetDigest...))
	return sum[:]
}

// digest returns the digest of fields under a key.
func digest(key []byte, fields ...*string) []byte {
	b := bytes.Clone(key)
	for _, f := range fields {
		b = appendField(b, f)
	}
	sum := sha256.Sum256(b)
	return sum[:]
}

// appendField appends a field with its length, −1 for null.
func appendField(b []byte, f *string) []byte {
	if f == nil {
		return append(b, 0xff, 0xff, 0xff, 0xff)
	}
	return append(binary.BigEndian.AppendUint32(b, uint32(len(*f))), *f...)
}

// end compares what follows the chain: its head, and the rows that are not in it.
func (w *walk) end(ctx context.Context, tx pgx.Tx) error {
	var head scoreboard.AuditSeal
	var deleted, inserted *int64
	var since *time.Time
	err := tx.QueryRow(ctx, sqlUnsealed).Scan(&w.chain.Unsealed, &since, &head.Seq, &head.Hash, &deleted, &inserted)
	if err != nil {
		return err
	}
	if since != nil {
		w.chain.UnsealedSince = since.UTC()
	}
	last := w.chain.Head
	switch {
	case w.known != nil && w.known.Seq > last.Seq:
		return w.broken(last.Seq+1, 0, fmt.Sprintf("the chain once had %d seals, and ends here", w.known.Seq))
	case head.Seq != last.Seq || !bytes.Equal(head.Hash, last.Hash):
		return w.broken(last.Seq+1, 0, fmt.Sprintf("the chain ends here, and its head is at %d", head.Seq))
	case deleted != nil:
		return w.broken(0, *deleted, "the row was deleted before it was sealed")
	case inserted != nil:
		return w.broken(0, *inserted, "the row is not in the chain: it was inserted without its trigger")
	}
	return nil
}
