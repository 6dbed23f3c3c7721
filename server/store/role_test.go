package store_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/internal/test/storetest"
	"github.com/scoreboard/scoreboard/migrations"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store"
)

// SQLSTATEs of a refusal by privileges, and by a function's check of its arguments.
const denied, invalidArgument = "42501", "22023"

// asDaemon connects with the daemon's role.
func asDaemon(t *testing.T, at string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

// PostgreSQL itself refuses what the daemon's role could use to rewrite the audit trail
// or the ledger, or to have the owner run its code.
func TestDaemonCannotRewriteHistory(t *testing.T) {
	t.Parallel()
	s, owner := storetest.New(t)
	record(t, s, increment("alice", 5, "one"))
	entry := &scoreboard.AuditEntry{Actor: "root", Action: "user.ban", Target: "user:alice", Reason: "why"}
	if err := s.Audit.Add(t.Context(), entry); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Audit.Seal(t.Context(), 10); err != nil {
		t.Fatal(err)
	}
	month := time.Now().UTC().Format("200601") + "01"
	leaf := "user_score_histories_" + month
	var hour string
	if err := owner.QueryRow(t.Context(), `select create_outbox_partition(h, h + interval '1 hour')::text ||
    to_char(h at time zone 'UTC', 'YYYYMMDDHH24MI')
from (select date_trunc('hour', now() + interval '5 hours') as h) as t`).
		Scan(&hour); err != nil {
		t.Fatal(err)
	}
	hour = "outbox_score_updates_" + strings.TrimPrefix(hour, "true")
	daemon := asDaemon(t, owner.URL)
	// Tables of its own must not stand in for the owner's.
	for _, sql := range []string{
		`create temp table users (user_id text, status text, erased_as text)`,
		`insert into pg_temp.users values ('alice', 'erased', 'erased-x')`,
		`create temp table archivable_partitions (name text)`,
		`insert into pg_temp.archivable_partitions values ('` + leaf + `')`,
		`create function pg_temp.check_erased(a text, b text) returns void language sql as ''`,
	} {
		if _, err := daemon.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	cases := map[string][]string{denied: {
		`create table own (word text)`,
		`create schema own`,
		`create function sha256(text) returns bytea language sql as 'select null::bytea'`,
		`create or replace function audit_field(value text) returns bytea language sql as 'select null::bytea'`,
		`create operator public.|| (leftarg = bytea, rightarg = bytea, function = byteacat)`,
		`alter function seal_audit(integer) set search_path = pg_temp`,
		`alter function seal_audit(integer) security invoker`,
		`drop function seal_audit(integer)`,
		`select grant_runtime(current_user)`,
		`select run_as_owner('pg_temp.check_erased(text, text)')`,
		`set session_replication_role = replica`,
		`alter role current_user superuser`,
		`set role scoreboard`,
		`select setval('audit_log_id_seq', 1)`,
		`insert into audit_log (id, who, address, user_agent, request_id, action, target, reason)
overriding system value values (1, '', '', '', '', '', '', '')`,
		`insert into audit_log (at, who, address, user_agent, request_id, action, target, reason)
values ('2020-01-01', '', '', '', '', '', '', '')`,
		`insert into audit_log (xid, who, address, user_agent, request_id, action, target, reason)
values ('1', '', '', '', '', '', '', '')`,
		`insert into audit_seals values (9, 9, '', '', '', '', '')`,
		`insert into audit_unsealed values (9)`,
		`select * from ` + leaf,
		`delete from ` + leaf,
		`drop table ` + leaf,
		`drop table ` + hour,
		`alter table user_score_histories detach partition ` + leaf,
		`delete from outbox_score_updates`,
		`delete from goose_db_version`,
		`update user_score_histories set applied = applied + 1`,
		`select * from user_score_histories for update`,
	}, invalidArgument: {
		`select drop_outbox_partition('` + leaf + `')`,
		`select drop_outbox_partition('audit_log')`,
		`select drop_outbox_partition('` + hour + `"; drop table audit_log; --')`,
		`select open_ledger_partition('c', 'audit_log')`,
		`select open_ledger_partition('c', '` + leaf + `')`,
		`select detach_ledger_partition('` + leaf + `', 1)`,
		`select detach_ledger_partition('audit_log', 1)`,
		`select drop_ledger_partition('` + leaf + `')`,
		`select drop_ledger_partition('users')`,
		`select drop_ledger_partition('user_score_histories_20200101; drop table audit_log')`,
		`select erase_audit_target('alice', 'erased-x')`,
		`select erase_audit_target('alice', null)`,
		`select * from erase_ledger_rows('alice', 'erased-x', 'global', 100)`,
		`select forget_addresses(null)`,
		`select forget_addresses('-1 day')`,
		`select create_ledger_partition('2000-01-01', '2100-01-01')`,
		`select create_ledger_partition(null, null)`,
		`select create_outbox_partition('2000-01-01', '2100-01-01')`,
	}}
	protected := []string{"audit_log", "audit_seals", "audit_head", "audit_unsealed", "user_score_histories"}
	for _, table := range protected {
		for _, sql := range []string{
			`delete from %s`, `truncate %s`, `drop table %s`, `alter table %s add column more text`,
			`alter table %s disable trigger all`, `alter table %s owner to current_user`,
			`do $$ begin lock table %s in share mode; end $$`, `create trigger mine before insert on %s
execute function suppress_redundant_updates_trigger()`, `create index on %s ((1))`,
			`create rule mine as on insert to %s do instead nothing`, `comment on table %s is 'mine'`,
		} {
			cases[denied] = append(cases[denied], fmt.Sprintf(sql, table))
		}
	}
	cases[denied] = append(cases[denied],
		`update audit_log set target = 'user:erased-x'`, `update audit_seals set target_key = null`,
		`update audit_head set seq = 0`, `update audit_unsealed set audit_id = 0`)
	sums := func() (all string) {
		for _, table := range protected {
			var sum string
			if err := owner.QueryRow(t.Context(), `select coalesce(string_agg(t::text, '|' order by t::text), '')
    from `+table+` as t`).Scan(&sum); err != nil {
				t.Fatal(err)
			}
			all += table + " " + sum + "\n"
		}
		return all
	}
	before := sums()
	for want, statements := range cases {
		for _, sql := range statements {
			_, err := daemon.Exec(t.Context(), sql)
			var refused *pgconn.PgError
			if !errors.As(err, &refused) || refused.Code != want {
				t.Errorf("%s: got %v, want SQLSTATE %s", sql, err, want)
			}
		}
	}
	if after := sums(); after != before {
		t.Errorf("history was changed from\n%s\nto\n%s", before, after)
	}
}

// A function that runs as the owner finds only the owner's objects, and only roles that
// were granted it may call it.
func TestOwnersFunctionsArePinned(t *testing.T) {
	t.Parallel()
	_, owner := storetest.New(t)
	const sql = `select p.oid::regprocedure::text, coalesce(array_to_string(p.proconfig, ';'), ''),
    p.proacl is null or exists (select from aclexplode(p.proacl) where grantee = 0)
from pg_proc as p where p.pronamespace = 'public'::regnamespace and p.prosecdef`
	rows, err := owner.Query(t.Context(), sql)
	if err != nil {
		t.Fatal(err)
	}
	var name, config string
	var public bool
	n := 0
	if _, err := pgx.ForEachRow(rows, []any{&name, &config, &public}, func() error {
		n++
		if config != "search_path=public, pg_temp" {
			t.Errorf("%s: got the configuration %q", name, config)
		}
		if public {
			t.Errorf("%s: everyone may call it", name)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if n < 12 {
		t.Errorf("got %d functions of the owner, want at least 12", n)
	}
}

func TestCheckRole(t *testing.T) {
	t.Parallel()
	s, owner := storetest.New(t)
	check := func(wantExcess, wantLack string) {
		t.Helper()
		excess, lack, err := s.CheckRole(t.Context())
		if err != nil || !strings.Contains(excess, wantExcess) || (excess == "") != (wantExcess == "") ||
			!strings.Contains(lack, wantLack) || (lack == "") != (wantLack == "") {
			t.Errorf("got %q, %q, %v, want %q, %q", excess, lack, err, wantExcess, wantLack)
		}
	}
	check("", "")
	owner.Do(t, `grant delete on user_score_histories to scoreboard_runtime`)
	check("may change the audit trail or the ledger", "")
	owner.Do(t, `grant create on schema public to scoreboard_runtime`)
	check("may create objects", "")
	owner.Do(t, `create table later (word text)`)
	owner.Do(t, `create function later_fn() returns void language sql as ''`)
	owner.Do(t, `select run_as_owner('later_fn()')`)
	check("may create objects", "later, later_fn")
	// What "sbctl migrate up" of the next version does, beside this one.
	if _, err := migrations.Grant(t.Context(), backends.Owner(owner.URL), owner.URL); err != nil {
		t.Fatal(err)
	}
	check("", "")
	record(t, s, increment("alice", 1, "one"))

	s = storetest.Open(t, backends.Owner(owner.URL))
	check("is a superuser", "")
}

func TestGrant(t *testing.T) {
	t.Parallel()
	_, owner := storetest.New(t)
	at, err := url.Parse(backends.Owner(owner.URL))
	if err != nil {
		t.Fatal(err)
	}
	// Roles belong to the cluster, which other tests share.
	name := "scoreboard_test_" + strings.ToLower(fmt.Sprintf("%x", time.Now().UnixNano()))
	as := func(user, password string) string {
		u := *at
		u.User = url.UserPassword(user, password)
		return u.String()
	}
	t.Cleanup(func() {
		for _, role := range []string{name, name + "_owner"} {
			if _, err := owner.Exec(context.Background(), `drop owned by `+role+`; drop role `+role); err != nil {
				t.Error(err)
			}
		}
	})
	for _, ambiguous := range []string{"u\u0308", "ﬁ", "a\u00a0b", "a\u00adb"} {
		if _, err := migrations.Grant(t.Context(), at.String(), as(name, ambiguous)); err == nil ||
			!strings.Contains(err.Error(), "encode in different ways") || strings.Contains(err.Error(), ambiguous) {
			t.Errorf("a password %q: got %v", ambiguous, err)
		}
	}
	daemon := as(name, `it's "secret":\ für 玩家`)
	for range 2 { // the second time the role exists
		if role, err := migrations.Grant(t.Context(), at.String(), daemon); err != nil || role != name {
			t.Fatalf("got %q, %v", role, err)
		}
	}
	s := storetest.Open(t, daemon)
	record(t, s, increment("alice", 1, "one"))

	if role, err := migrations.Grant(t.Context(), at.String(), at.String()); err != nil || role != "" {
		t.Errorf("one role: got %q, %v", role, err)
	}
	// A member of the owner's role could do all that the owner may.
	owner.Do(t, `create role `+name+`_owner login password 'p' noinherit`)
	owner.Do(t, `grant scoreboard to `+name+`_owner`)
	if _, err := migrations.Grant(t.Context(), at.String(), as(name+"_owner", "p")); err == nil ||
		!strings.Contains(err.Error(), "has the privileges of the owner") {
		t.Errorf("a member of the owner: got %v", err)
	}
	owner.Do(t, `revoke scoreboard from `+name+`_owner`)
	if _, err := migrations.Grant(t.Context(), as(name+"_owner", "p"), as(name+"_daemon", "p")); err == nil ||
		!strings.Contains(err.Error(), "create role \""+name+"_daemon\" login") {
		t.Errorf("an owner that must not create roles: got %v", err)
	}
}

// What PostgreSQL can lose is said: a commit that does not wait for the disk, and a standby
// that commits do not wait for.
func TestCheckDurability(t *testing.T) {
	t.Parallel()
	// A server of its own: on a shared one, the standbys of other tests count, too.
	server := backends.OwnPostgres(t, migrations.Up)
	s, owner := storetest.Open(t, server.URL), backends.Connect(t, server.URL)
	check := func(want string) {
		t.Helper()
		risk, err := s.CheckDurability(t.Context())
		if err != nil || !strings.Contains(risk, want) || (risk == "") != (want == "") {
			t.Errorf("got %q, %v, want %q", risk, err, want)
		}
	}
	check("")
	url, err := pgconn.ParseConfig(backends.Owner(owner.URL))
	if err != nil {
		t.Fatal(err)
	}
	url.RuntimeParams["replication"] = "true"
	standby, err := pgconn.ConnectConfig(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	check("a failover to the standby loses what it has not received")
	if err := standby.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	owner.Do(t, `alter role scoreboard_runtime in database `+url.Database+` set synchronous_commit = off`)
	s = storetest.Open(t, owner.URL)
	check("increments of the last moments")
}

// The role of the daemon sees how far replicas are behind, although it sees nothing else of them.
func TestReplicaLagIsVisible(t *testing.T) {
	t.Parallel()
	s, owner := storetest.New(t)
	url, err := pgconn.ParseConfig(backends.Owner(owner.URL))
	if err != nil {
		t.Fatal(err)
	}
	name := "replica-of-" + url.Database
	url.RuntimeParams["replication"], url.RuntimeParams["application_name"] = "true", name
	standby, err := pgconn.ConnectConfig(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = standby.Close(context.WithoutCancel(t.Context())) }()
	var hidden int
	err = asDaemon(t, owner.URL).QueryRow(t.Context(), `select count(*) from pg_stat_replication
where application_name = $1 and state is null`, name).Scan(&hidden)
	if err != nil || hidden != 1 {
		t.Fatalf("the daemon's role sees %d replicas without their state, %v: the test proves nothing", hidden, err)
	}
	stats := store.NewStats(s, slog.New(slog.DiscardHandler))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- stats.Run(ctx) }()
	defer func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	registry := prometheus.NewRegistry()
	registry.MustRegister(stats.Collectors()...)
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		families, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range families {
			for _, m := range f.GetMetric() {
				if f.GetName() == "scoreboard_postgres_replica_lag_seconds" && m.GetLabel()[0].GetValue() == name {
					return
				}
			}
		}
		if time.Now().After(deadline) {
			t.Fatal("the lag of the replica was not measured")
		}
	}
}
