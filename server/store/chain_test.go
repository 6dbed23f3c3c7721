package store_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/internal/test/storetest"
	"github.com/scoreboard/scoreboard/migrations"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store"
)

// addEntry adds an entry to the audit trail. Numbers 3, 6, … have all fields.
func addEntry(t *testing.T, s *store.Store, n int) {
	t.Helper()
	e := &scoreboard.AuditEntry{
		Actor: "root", Address: "192.0.2.7", Agent: "a test", RequestID: fmt.Sprintf("r%d", n), Action: "user.freeze",
		Target: fmt.Sprintf("user:u%d", n), Reason: "why",
	}
	if n%3 == 0 {
		e.Reason, e.Detail = "Grund: ä → 🎯", []byte(`{"b": 1.50, "a": ["x", null]}`)
	}
	if err := s.Audit.Add(t.Context(), e); err != nil {
		t.Fatal(err)
	}
}

// sealAll seals every row; transactions of other tests may hold it up.
func sealAll(t *testing.T, s *store.Store, owner *backends.Conn) scoreboard.AuditSeal {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; {
		head, _, err := s.Audit.Seal(t.Context(), 100)
		if err != nil {
			t.Fatal(err)
		}
		if owner.Count(t, `select count(*) from audit_unsealed`) == 0 {
			return head
		}
		if time.Now().After(deadline) {
			t.Fatal("rows are still unsealed")
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func verifyChain(t *testing.T, s *store.Store, known *scoreboard.AuditSeal) *scoreboard.AuditChain {
	t.Helper()
	chain, err := s.Audit.VerifyChain(t.Context(), known)
	if err != nil {
		t.Fatal(err)
	}
	return chain
}

// Every way to rewrite the trail with the owner's role is found, at the first row that
// is not what was sealed.
func TestChainFindsChanges(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		sql     string
		known   bool // compared with the head from the log
		seq, id int64
		problem string
	}{
		"action":         {`update audit_log set action = 'user.unban' where id = 4`, false, 4, 4, "was changed"},
		"reason to null": {`update audit_log set reason = '' where id = 4`, false, 4, 4, "was changed"},
		"detail":         {`update audit_log set detail = '{"a": 1}' where id = 6`, false, 6, 6, "was changed"},
		"detail removed": {`update audit_log set detail = null where id = 6`, false, 6, 6, "was changed"},
		"time": {
			`update audit_log set at = at + interval '1 microsecond' where id = 4`, false, 4, 4, "was changed",
		},
		"transaction": {`update audit_log set xid = '3' where id = 4`, false, 4, 4, "was changed"},
		"actor":       {`update audit_log set who = 'mallory' where id = 4`, false, 4, 4, "who, address or user agent"},
		"moved between fields": {
			`update audit_log set address = '', user_agent = address || user_agent where id = 4`, false, 4, 4,
			"who, address or user agent",
		},
		"target": {`update audit_log set target = 'user:other' where id = 4`, false, 4, 4, "not by an erasure"},
		"false erasure": {
			`update audit_log set target = 'user:erased-x' where id = 4`, false, 4, 4, "not by an erasure",
		},
		"false erasure without key": {
			`update audit_log set target = 'user:erased-x' where id = 4;
update audit_seals set target_key = null where audit_id = 4`, false, 4, 4, "not by an erasure",
		},
		"deleted": {`delete from audit_log where id = 4`, false, 4, 4, "was deleted"},
		"deleted and seal": {
			`delete from audit_log where id = 4; delete from audit_seals where seq = 4`, false, 5, 5, "seal 4",
		},
		"closed gap": {
			`delete from audit_log where id = 4; delete from audit_seals where seq = 4;
update audit_seals set seq = seq - 1 where seq = 5; update audit_seals set seq = seq - 1 where seq = 6;
update audit_seals set seq = seq - 1 where seq = 7; update audit_seals set seq = seq - 1 where seq = 8`,
			false, 4, 5, "its place was changed",
		},
		"swapped rows": {
			`update audit_seals set audit_id = -1 where seq = 4; update audit_seals set audit_id = 4 where seq = 5;
update audit_seals set audit_id = 5 where seq = 4`, false, 4, 5, "changed",
		},
		"swapped seals": {
			`update audit_seals set seq = -1 where seq = 4; update audit_seals set seq = 4 where seq = 5;
update audit_seals set seq = 5 where seq = -1`, false, 4, 5, "its place was changed",
		},
		"inserted": {
			`insert into audit_log (who, address, user_agent, request_id, action, target, reason)
values ('root', '', '', '', 'user.ban', 'user:u1', '')`, false, 0, 9, "not in the chain",
		},
		"deleted last": {
			`delete from audit_log where id = 8; delete from audit_seals where seq = 8`,
			false, 8, 0, "its head is at 8",
		},
		"cut off with its head": {
			`delete from audit_log where id = 8; delete from audit_seals where seq = 8;
update audit_head set seq = 7, hash = (select hash from audit_seals where seq = 7)`, true, 8, 0, "once had 8",
		},
		"recomputed": {
			`update audit_log set reason = 'other' where id = 1; insert into audit_unsealed select id from audit_log;
delete from audit_seals; update audit_head set seq = 0, hash = sha256(''); select seal_audit(100)`,
			true, 8, 8, "another hash",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, owner := storetest.New(t)
			for n := range 8 {
				addEntry(t, s, n+1)
			}
			head := sealAll(t, s, owner)
			chain := verifyChain(t, s, &head)
			if chain.Break != nil || chain.Head.String() != head.String() || head.Seq != 8 {
				t.Fatalf("before the change: got %+v, %+v, want %s", chain, chain.Break, head)
			}
			owner.Do(t, `set session_replication_role = replica`) // without triggers
			for sql := range strings.SplitSeq(c.sql, ";") {
				if strings.Contains(sql, "seal_audit") {
					sealAll(t, s, owner)
					continue
				}
				owner.Do(t, sql)
			}
			var known *scoreboard.AuditSeal
			if c.known {
				known = &head
				if chain := verifyChain(t, s, nil); chain.Break != nil {
					t.Errorf("without the head: got %+v", chain.Break)
				}
			}
			got := verifyChain(t, s, known).Break
			if got == nil || got.Seq != c.seq || got.ID != c.id || !strings.Contains(got.Problem, c.problem) {
				t.Errorf("got %+v, want seal %d, row %d, %q", got, c.seq, c.id, c.problem)
			}
		})
	}
}

func TestErasureKeepsTheChain(t *testing.T) {
	t.Parallel()
	s, owner := storetest.New(t)
	record(t, s, increment("u2", 5, "one"))
	for n := range 3 {
		addEntry(t, s, n+1)
	}
	sealAll(t, s, owner)
	addEntry(t, s, 2) // not sealed yet
	anonymous, err := s.Privacy.BeginErasure(t.Context(), "u2", &scoreboard.AuditEntry{
		Actor: "root", Action: "user.erase", Reason: "asked",
	})
	if err != nil {
		t.Fatal(err)
	}
	head := sealAll(t, s, owner)
	if chain := verifyChain(t, s, nil); chain.Break != nil || chain.Head.Seq != 5 {
		t.Errorf("got %+v, %+v, head %s", chain, chain.Break, head)
	}
	if n := owner.Count(t, `select count(*) from audit_log where target = $1`, "user:"+string(anonymous)); n != 3 {
		t.Errorf("%d rows are about %s, want 3", n, anonymous)
	}
	if n := owner.Count(t, `select count(*) from audit_seals where target_key is null`); n != 1 {
		t.Errorf("%d seals have no key, want that of the sealed row", n)
	}
}

// A row is sealed when no transaction can still commit one before it.
func TestSealWaitsForOlderTransactions(t *testing.T) {
	t.Parallel()
	at := backends.OwnPostgres(t, migrations.Up).URL // other tests' transactions would delay the seals
	s, owner := storetest.Open(t, at), backends.Connect(t, at)
	early := backends.Connect(t, at)
	tx, err := early.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	const add = `insert into audit_log (who, address, user_agent, request_id, action, target, reason)
values ('root', '', '', '', 'user.ban', 'user:early', '')`
	if _, err := tx.Exec(t.Context(), add); err != nil {
		t.Fatal(err)
	}
	addEntry(t, s, 1)
	if _, n, err := s.Audit.Seal(t.Context(), 10); err != nil || n != 0 {
		t.Fatalf("sealed %d rows, %v, before the older transaction ended", n, err)
	}
	chain := verifyChain(t, s, nil)
	if chain.Break != nil || chain.Unsealed != 1 || time.Since(chain.UnsealedSince) > time.Minute {
		t.Errorf("got %+v, %+v, want one unsealed row", chain, chain.Break)
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if head, n, err := s.Audit.Seal(t.Context(), 10); err != nil || n != 2 || head.Seq != 2 {
		t.Fatalf("sealed %d rows up to %d, %v, want 2", n, head.Seq, err)
	}
	if owner.Count(t, `select l.id from audit_log as l join audit_seals as s on s.audit_id = l.id
where target = 'user:early' and seq = 1`) != 1 {
		t.Error("the row of the older transaction is not the first")
	}
	if chain := verifyChain(t, s, nil); chain.Break != nil || chain.Unsealed != 0 {
		t.Errorf("got %+v, %+v", chain, chain.Break)
	}
	// In a restored dump, rows have transactions that this cluster has not reached yet.
	owner.Do(t, `insert into audit_log (xid, who, address, user_agent, request_id, action, target, reason)
values ('9000000000', 'root', '', '', '', 'user.ban', 'user:restored', '')`)
	addEntry(t, s, 2)
	if _, n, err := s.Audit.Seal(t.Context(), 10); err != nil || n != 2 {
		t.Errorf("sealed %d rows, %v, of another cluster, want 2", n, err)
	}
	addEntry(t, s, 4)
	owner.Do(t, `set session_replication_role = replica`)
	owner.Do(t, `delete from audit_log where target = 'user:u4'`)
	if chain := verifyChain(t, s, nil); chain.Break == nil || chain.Break.ID != 5 ||
		!strings.Contains(chain.Break.Problem, "before it was sealed") {
		t.Errorf("got %+v", chain.Break)
	}
}

// Two sealers whose leases both hold, because one of them stalled, continue one chain.
func TestSealersShareOneChain(t *testing.T) {
	t.Parallel()
	s, owner := storetest.New(t)
	other := storetest.Open(t, owner.URL)
	const rows = 60
	stop := make(chan struct{})
	var all sync.WaitGroup
	for _, sealer := range []*store.Store{s, other, s, other} {
		all.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if _, _, err := sealer.Audit.Seal(context.Background(), 3); err != nil &&
					wire.CodeOf(err) != wire.CodeUnavailable {
					t.Error(err)
					return
				}
			}
		})
	}
	for n := range rows {
		addEntry(t, s, n)
	}
	sealAll(t, s, owner)
	close(stop)
	all.Wait()
	if chain := verifyChain(t, s, nil); chain.Break != nil || chain.Head.Seq != rows || chain.Unsealed != 0 {
		t.Errorf("got %+v, %+v, want %d seals", chain, chain.Break, rows)
	}
	if n := owner.Count(t, `select count(*) from (
    select row_number() over (order by seq) as s, row_number() over (order by xid, id) as x
    from audit_seals join audit_log on id = audit_id) as t where s <> x`); n != 0 {
		t.Errorf("%d seals are not in the order of (xid, id)", n)
	}
}
