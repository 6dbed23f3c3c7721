-- Why: reports of load tests are files. The production database is no place for them, and the
-- daemon no longer reads them. The reports are deleted. No release has had the table: daemons
-- of an earlier build answer only requests for load runs with an error.

-- +goose Up
drop table load_runs;

-- +goose Down
create table load_runs (
    load_run_id bigint generated always as identity,
    uploaded_at timestamptz not null default clock_timestamp(),
    verdict     text collate "C" not null,
    profile     text collate "C" not null,
    version     text collate "C" not null,
    began       timestamptz not null,
    seconds     double precision not null,
    rate        double precision not null,
    p95_ms      double precision not null,
    p99_ms      double precision not null,
    digest      bytea not null,
    report      bytea not null,
    constraint load_runs_pkey primary key (load_run_id),
    constraint load_runs_digest_key unique (digest),
    constraint load_runs_verdict_check check (verdict in ('passed', 'failed', 'scaled'))
);
