-- Why: the full comparison was due an interval after the start of a process, so that processes
-- that are restarted each day never compared. It is due by when it last ran on any process.
-- Daemons of the version before do not know the table and compare as before.

-- +goose Up
create table job_runs (
    name       text collate "C" not null,
    started_at timestamptz not null,
    constraint job_runs_pkey primary key (name)
);

-- +goose Down
drop table job_runs;
