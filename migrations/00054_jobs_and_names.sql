-- Why: operators find users by the beginning of their display name, and see the jobs of all
-- nodes on each of them. A node reports a running job every second; one that has not been
-- reported for a while has lost its node. The result is kept with it, so that it can be
-- read after the connection that started the job has ended.

-- +goose NO TRANSACTION
-- +goose Up
create table if not exists jobs (
    job_id     bigint generated always as identity,
    kind       text collate "C" not null,
    target     text collate "C" not null,      -- as in the audit trail
    dry_run    boolean not null,
    node       text collate "C" not null,
    who        text collate "C" not null,
    reason     text not null,
    started_at timestamptz not null default clock_timestamp(),
    seen_at    timestamptz not null default clock_timestamp(), -- the node reported last
    ended_at   timestamptz,
    state      text collate "C" not null default 'running',
    stop       boolean not null default false, -- an operator has asked for it
    line       text,                           -- the last line of the response, as JSON
    constraint jobs_pkey primary key (job_id),
    constraint jobs_state_check check (state in ('running', 'done', 'failed', 'stopped')),
    constraint jobs_ended_at_check check ((state = 'running') = (ended_at is null))
) with (fillfactor = 50);
drop index concurrently if exists profiles_name;
create index concurrently profiles_name on profiles (lower(display_name) collate "C", user_id)
    where display_name is not null;

-- +goose Down
drop index concurrently if exists profiles_name;
drop table if exists jobs;
