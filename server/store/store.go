package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/scoreboard/scoreboard/internal/tlsfiles"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store/boards"
	"github.com/scoreboard/scoreboard/server/store/corrections"
	"github.com/scoreboard/scoreboard/server/store/history"
	"github.com/scoreboard/scoreboard/server/store/increments"
	"github.com/scoreboard/scoreboard/server/store/internal/pg"

	"github.com/scoreboard/scoreboard/server/store/operations"
	"github.com/scoreboard/scoreboard/server/store/outbox"
	"github.com/scoreboard/scoreboard/server/store/reads"
	"github.com/scoreboard/scoreboard/server/store/recovery"

	"github.com/scoreboard/scoreboard/server/store/users"
)

// Options are the settings of the store.
type Options struct {
	URL      string
	MaxConns int               // of the pool
	LockWait time.Duration     // the longest wait for a row lock in a batch
	Timeout  time.Duration     // of one statement
	Shards   int               // of the outbox
	Window   scoreboard.Window // in which repeats are recognised
	// CloseGrace is how long after the end of a period increments that were
	// accepted before it still count for it.
	CloseGrace time.Duration
	// Describe uses unnamed statements with cached descriptions instead of
	// named prepared ones, which PgBouncer in transaction mode needs.
	Describe bool
	TLS      *tlsfiles.Client // nil: TLS as the URL says
	// Policy returns the rules for increments in force; nil: none.
	Policy func() *scoreboard.IngestPolicy
	Log    *slog.Logger // nil: no logging
}

// Store is PostgreSQL, one value for each aggregate over one pool.
type Store struct {
	Archive     *operations.Archive
	Audit       *operations.AuditLog
	Boards      *boards.Boards
	Corrections *corrections.Corrections
	DeadLetters *operations.DeadLetters
	ExternalIDs *users.ExternalIDs
	Friends     *users.Friends
	Imports     *corrections.Imports
	Increments  *increments.Increments
	Jobs        *operations.Jobs
	Leagues     *boards.Leagues
	Keys        *operations.Keys
	Moderation  *corrections.Moderation
	Leases      *operations.Leases
	PastBoards  *history.PastBoards
	NodeReports *operations.NodeReports
	Outbox      *outbox.Outbox
	Privacy     *users.Privacy
	Profiles    *users.Profiles
	Reads       *reads.Reads
	Recovery    *recovery.Recovery
	Rewards     *boards.Rewards
	Players     *boards.Players
	Secrets     *operations.EncryptedSecrets
	Settings    *operations.Settings
	Standings   *reads.Standings
	Teams       *users.Teams
	Visibility  *users.Visibility
	Webhooks    *operations.Webhooks

	db *pg.DB
}

// Open does not connect: an unreachable database is detected on first use.
func Open(ctx context.Context, o Options) (*Store, error) {
	db, err := open(ctx, o, true)
	if err != nil {
		return nil, err
	}
	b, queue := boards.New(db, o.CloseGrace), outbox.New(db)
	return &Store{
		Archive:     operations.NewArchive(db, o.Window),
		Audit:       operations.NewAuditLog(db),
		Boards:      b,
		Corrections: corrections.New(db, o.Shards, o.Window, o.CloseGrace),
		DeadLetters: operations.NewDeadLetters(db, o.Window),
		ExternalIDs: users.NewExternalIDs(db),
		Friends:     users.NewFriends(db),
		Imports:     corrections.NewImports(db, o.Shards, o.Window, o.CloseGrace),
		Increments: increments.New(db, increments.Options{
			Shards: o.Shards, Window: o.Window, CloseGrace: o.CloseGrace, Policy: o.Policy,
			Log: o.Log, MakeInstances: b.MakeInstances,
			MakeLedgerPartitions: queue.MakeLedgerPartitions,
		}),
		Keys:        operations.NewKeys(db),
		Moderation:  corrections.NewModeration(db, o.Shards),
		Leagues:     boards.NewLeagues(db, b),
		Leases:      operations.NewLeases(db),
		PastBoards:  history.New(db),
		NodeReports: operations.NewNodeReports(db),
		Outbox:      queue,
		Privacy:     users.NewPrivacy(db, o.Shards),
		Profiles:    users.NewProfiles(db),
		Reads:       reads.New(db),
		Recovery:    recovery.New(db, o.Shards),
		Rewards:     boards.NewRewards(db),
		Players:     boards.NewPlayers(db),
		Secrets:     operations.NewEncryptedSecrets(db),
		Settings:    operations.NewSettings(db),
		Standings:   reads.NewStandings(db),
		Teams:       users.NewTeams(db, o.Shards, o.Window),
		Jobs:        operations.NewJobs(db),
		Visibility:  users.NewVisibility(db, o.Shards),
		Webhooks:    operations.NewWebhooks(db),
		db:          db,
	}, nil
}

func open(ctx context.Context, o Options, writes bool) (*pg.DB, error) {
	connection := pg.Options{
		URL: o.URL, MaxConns: o.MaxConns, LockWait: o.LockWait, Timeout: o.Timeout, Describe: o.Describe,
		Writes: writes,
	}
	if o.TLS != nil {
		connection.Secure = o.TLS.SecurePostgres
	}
	return pg.Open(ctx, connection)
}

// Collectors returns the metrics of the connections and calls, for registration.
func (s *Store) Collectors() []prometheus.Collector { return s.db.Collectors() }

// Close waits for connections in use and closes all.
func (s *Store) Close() { s.db.Close() }

// Now returns the database's time.
func (s *Store) Now(ctx context.Context) (at time.Time, err error) {
	if err := s.db.QueryRow(ctx, `select clock_timestamp()`).Scan(&at); err != nil {
		return at, fmt.Errorf("read PostgreSQL's clock: %w", err)
	}
	return at, nil
}

// SchemaVersion returns the number of the newest migration that was applied to the
// database, 0 if none was.
func (s *Store) SchemaVersion(ctx context.Context) (number int64, err error) {
	err = s.db.QueryRow(ctx, `select coalesce(max(version_id), 0) from goose_db_version where is_applied`).Scan(&number)
	if pg.Code(err) == pg.UndefinedTable {
		return 0, nil
	}
	if pg.Code(err) == insufficientPrivilege {
		err = &scoreboard.SetupError{
			Setting: "postgres.url", Err: err, Problem: "the schema's version was not read",
			Fix: "let its user select from goose_db_version: run \"sbctl migrate up\" as the owner",
		}
	}
	if err != nil {
		return 0, pg.Translate(fmt.Errorf("read the version of the schema: %w", err))
	}
	return number, nil
}

// CheckDurability describes how an acknowledged increment can be lost, "" if it cannot be
// without the loss of a disk. Any role sees how many standbys are connected.
func (s *Store) CheckDurability(ctx context.Context) (risk string, err error) {
	const sql = `select case
    when current_setting('fsync') = 'off' then 'fsync is off: a crash of the machine can damage the database'
    when current_setting('synchronous_commit') = 'off' then
        'synchronous_commit is off: a crash loses increments of the last moments that were acknowledged'
    when standbys = 0 then ''
    when current_setting('synchronous_standby_names') = '' then 'synchronous_standby_names is empty: a failover to '
        || case standbys when 1 then 'the standby' else 'one of the ' || standbys || ' standbys' end
        || ' loses what it has not received'
    when current_setting('synchronous_commit') = 'local' then
        'synchronous_commit is local: a failover to a standby loses what it has not received'
    else '' end
from (select count(*) as standbys from pg_stat_replication) as connected`
	if err := s.db.QueryRow(ctx, sql).Scan(&risk); err != nil {
		return "", fmt.Errorf("read how durable commits are: %w", err)
	}
	return risk, nil
}

// CheckRole describes what the role of this store has beyond what the daemon needs, and
// what it lacks; "" for neither.
func (s *Store) CheckRole(ctx context.Context) (excess, lack string, err error) {
	// Any table stands for those that only the owner changes, and for the others.
	const sql = `select case
    when (select rolsuper from pg_roles where rolname = current_user) then current_user || ' is a superuser'
    when exists (select from pg_class where relnamespace = current_schema()::regnamespace and relkind in ('r', 'p')
        and pg_has_role(relowner, 'usage')) then current_user || ' owns tables'
    when has_schema_privilege(current_schema(), 'create') then current_user || ' may create objects'
    when has_table_privilege('audit_log', 'update, delete, truncate')
        or has_table_privilege('user_score_histories', 'update, delete, truncate')
        then current_user || ' may change the audit trail or the ledger'
    else '' end,
    coalesce((select current_user || ' lacks the right to use ' || string_agg(t.name, ', ' order by t.name) from (
        select relname::text as name from pg_class
        where relnamespace = current_schema()::regnamespace and relkind in ('r', 'p', 'v') and not relispartition
            and relname !~ '^user_score_histories_[0-9]{8}$' and not has_table_privilege(oid, 'select')
        union all select proname::text from pg_proc
        where pronamespace = current_schema()::regnamespace and prosecdef and prorettype <> 'trigger'::regtype
            and not has_function_privilege(oid, 'execute')) as t), '')`
	if err := s.db.QueryRow(ctx, sql).Scan(&excess, &lack); err != nil {
		return "", "", fmt.Errorf("read the rights of the role: %w", err)
	}
	return excess, lack, nil
}

// ErrReadOnly means that the database answers reads only.
var ErrReadOnly = errors.New("PostgreSQL is read-only")

// Ping checks that the database answers and accepts writes. The error is a
// *scoreboard.SetupError where a setting is wrong, and has ErrReadOnly in its chain where
// only writes are rejected.
func (s *Store) Ping(ctx context.Context) error {
	readOnly, err := s.db.IsReadOnly(ctx)
	if err == nil && readOnly {
		err = ErrReadOnly
	}
	if err != nil {
		return fmt.Errorf("ping PostgreSQL: %w", explain(err))
	}
	return nil
}

// SQLSTATEs of a login.
const (
	invalidAuthorization = "28000"
	invalidPassword      = "28P01"
	noDatabase           = "3D000"
)

const insufficientPrivilege = "42501"

// createRole is what else to do: before the first migration, the daemon's role does not exist.
const createRole = `if the role does not exist yet, run "sbctl migrate up" as the owner of the schema`

// explain returns a *scoreboard.SetupError for an error of a connection that a setting
// can prevent, and other errors as they are.
func explain(err error) error {
	e := &scoreboard.SetupError{Setting: "postgres.url", Err: err}
	if errors.Is(err, ErrReadOnly) || errors.Is(err, pgconn.ErrReadOnlyConnection) {
		e.Problem = "the server is read-only: a standby, or its disk is full"
		e.Fix = "have it lead to the primary, or make the server writable: docs/runbook/lost-postgresql.md"
		return e
	}
	var refused *pgconn.PgError
	if !errors.As(err, &refused) {
		return tlsfiles.Explain("postgres.tls", err)
	}
	switch e.Problem = "PostgreSQL says: " + refused.Message; refused.Code {
	case invalidPassword:
		e.Fix = "correct the user and the password in the URL, percent-encoded; " + createRole
	case invalidAuthorization:
		e.Fix = "correct the user, set postgres.tls_cert and postgres.tls_key if a certificate is required, " +
			"or allow the connection in pg_hba.conf; " + createRole
	case noDatabase:
		e.Fix = "correct the database in the URL, or create it"
	default:
		return err
	}
	return e
}
