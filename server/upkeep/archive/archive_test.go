package archive_test

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/klauspost/compress/zstd"
	"go.uber.org/goleak"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/internal/test/storetest"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store"
	"github.com/scoreboard/scoreboard/server/upkeep"
	"github.com/scoreboard/scoreboard/server/upkeep/archive"
)

func TestMain(m *testing.M) {
	backends.Main(m, goleak.IgnoreTopFunction("github.com/jackc/pgx/v5/pgxpool.(*Pool).backgroundHealthCheck"))
}

const (
	keep    = 90 * 24 * time.Hour
	oldRows = 5000
)

// rig is a ledger with one current row and a partition six months old.
type rig struct {
	*store.Store
	conn    *backends.Conn
	storage archive.Storage
	dir     string // of storage
	leaf    string // the old partition
}

func newRig(t *testing.T) *rig {
	t.Helper()
	s, conn := storetest.New(t, func(o *store.Options) { o.MaxConns = 4 })
	y, month, _ := time.Now().UTC().Date()
	from := time.Date(y, month-6, 1, 0, 0, 0, 0, time.UTC)
	r := &rig{
		Store: s,
		conn:  conn,
		dir:   filepath.Join(t.TempDir(), "archive"),
		leaf:  "user_score_histories_" + from.Format("20060102"),
	}
	var err error
	if r.storage, err = archive.OpenStorage(r.dir); err != nil {
		t.Fatal(err)
	}
	r.conn.Do(t, `select create_ledger_partition($1, $2)`, from, from.AddDate(0, 1, 0))
	r.conn.Do(
		t,
		`insert into user_score_histories (user_id, board_id, event_id, event_text, payload_hash, delta, applied,
    previous_score, new_score, version, recorded_at, client_timestamp, source, action, address, user_agent)
select 'alice', 'global', gen_random_uuid(), case when n % 2 = 0 then 'ev"ent:' || n end, decode(md5(n::text), 'hex'),
    1, 1, n - 1, n, n, $1::timestamptz + make_interval(secs => n + 0.123456), null, 'api', null, '192.0.2.1',
    E'a\tb\n"ü" \\ ☃'
from generate_series(1, $2::int) as n`,
		from,
		oldRows,
	)
	if _, err := s.Increments.Record(t.Context(), []scoreboard.Increment{r.increment(t, "now")}); err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *rig) increment(t *testing.T, event string) scoreboard.Increment {
	id, err := scoreboard.ParseEventID("alice", event)
	if err != nil {
		t.Fatal(err)
	}
	return scoreboard.Increment{
		User:   "alice",
		Delta:  1,
		Event:  id,
		Boards: []scoreboard.BoardID{scoreboard.GlobalBoard},
		Source: scoreboard.SourceAPI,
	}
}

func (r *rig) archive(l archive.Store, keep time.Duration) *archive.Archive {
	quiet := slog.New(slog.DiscardHandler)
	runner := upkeep.NewRunner(rand.Text(), r.Leases, quiet)
	return archive.New(archive.Options{Storage: r.storage, Keep: keep}, l, runner, quiet, time.Now)
}

// check restores the archive, compares it with want, a copy of the partition, and
// checks that only the partition was dropped.
func (r *rig) check(t *testing.T, want string) {
	t.Helper()
	file := filepath.Join(r.dir, r.leaf+".ndjson.zst")
	packed, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	sum, err := os.ReadFile(file + ".sha256")
	if wantSum := fmt.Sprintf(
		"%x  %s\n",
		sha256.Sum256(packed),
		filepath.Base(file),
	); err != nil ||
		string(sum) != wantSum {
		t.Errorf("checksum file: got %q, %v, want %q", sum, err, wantSum)
	}
	var m archive.Manifest
	text, err := os.ReadFile(filepath.Join(r.dir, r.leaf+".json"))
	if err := errors.Join(err, json.Unmarshal(text, &m)); err != nil || m.Bytes != int64(len(packed)) {
		t.Errorf("manifest: got %s, %v", text, err)
	}
	z, err := zstd.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	var plain strings.Builder
	if _, err := z.WriteTo(&plain); err != nil {
		t.Fatal(err)
	}
	r.conn.Do(t, `create temp table restored (like user_score_histories)`)
	r.conn.Do(t, `insert into restored select (json_populate_record(null::user_score_histories, line::json)).*
from unnest($1::text[]) as line`, strings.Split(strings.TrimSuffix(plain.String(), "\n"), "\n"))
	if n := r.conn.Count(t, `select count(*) from restored`); n != m.Rows {
		t.Errorf("%d rows restored, want %d as in the manifest", n, m.Rows)
	}
	if n := r.conn.Count(t, `select count(*) from (select * from restored except all select * from `+want+`) a`) +
		r.conn.Count(t, `select count(*) from (select * from `+want+` except all select * from restored) a`); n != 0 {
		t.Errorf("%d rows differ between the archive and the partition", n)
	}
	r.conn.Do(t, `drop table restored`)
	if n := r.conn.Count(t, `select count(*) from pg_class where relname = $1`, r.leaf); n != 0 {
		t.Error("the partition is still there")
	}
	if n := r.conn.Count(t, `select count(*) from user_score_histories`); n != 1 {
		t.Errorf("the ledger has %d rows, want the current one only", n)
	}
}

func TestArchiveOldPartition(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.conn.Do(t, `create table copy as select * from `+r.leaf)
	a := r.archive(r.Archive, keep)
	done, err := a.ArchiveOld(t.Context())
	if err != nil || len(done) != 1 || done[0].Rows != oldRows {
		t.Fatalf("got %+v, %v", done, err)
	}
	r.check(t, "copy")
	var event [16]byte
	if err := r.conn.QueryRow(t.Context(), `select event_id from copy limit 1`).Scan(&event); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Increments.Event(
		t.Context(),
		"alice",
		scoreboard.EventID{UUID: event},
	); wire.CodeOf(
		err,
	) != wire.CodeNotFound {
		t.Errorf("an archived event: got %v, want not_found", err)
	}
	if again, err := a.ArchiveOld(t.Context()); err != nil || len(again) != 0 {
		t.Errorf("a second run: got %+v, %v, want nothing", again, err)
	}
}

// The dedupe window is never archived, whatever the setting says.
func TestDedupeWindowIsNotArchived(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	old, err := r.archive(r.Archive, 0).ListOld(t.Context())
	if err != nil || len(old) != 1 || old[0].Name != r.leaf || !old[0].Attached {
		t.Errorf("got %+v, %v, want only %s", old, err, r.leaf)
	}
	if old, err := r.archive(r.Archive, 5000*24*time.Hour).ListOld(t.Context()); err != nil || len(old) != 0 {
		t.Errorf("with a longer retention: got %+v, %v", old, err)
	}
}

func TestDamagedArchiveIsRewritten(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.conn.Do(t, `create table copy as select * from `+r.leaf)
	// The process ends after the partition was detached.
	_, err := r.archive(&failing{Store: r.Archive, at: 10}, keep).ArchiveOld(t.Context())
	if !errors.Is(err, errLost) {
		t.Fatalf("got %v", err)
	}
	file := filepath.Join(r.dir, r.leaf+".ndjson.zst")
	packed, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	packed[len(packed)/2] ^= 1
	if err := os.WriteFile(file, packed, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := r.archive(r.Archive, keep).ArchiveOld(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.check(t, "copy")
}

func TestPartitionShorterThanADayIsRejected(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	now := time.Now().AddDate(1, 0, 0)
	_, err := r.conn.Exec(t.Context(), `select create_ledger_partition($1, $2)`, now, now.Add(24*time.Hour-time.Second))
	var rejected *pgconn.PgError
	if !errors.As(err, &rejected) || rejected.Code != "22023" {
		t.Errorf("got %v, want SQLSTATE 22023", err)
	}
	r.conn.Do(t, `select create_ledger_partition($1, $2)`, now, now.Add(24*time.Hour))
}
