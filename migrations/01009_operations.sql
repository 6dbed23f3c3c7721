-- Why: what operators set and run: settings in force, jobs of all nodes, imports, webhooks.

-- +goose Up
create sequence setting_versions;

-- A row is a setting that operators have changed: the value in force, without a deployment, on
-- every node. The audit log has the operator, origin and reason of each change.
create table settings (
    name       text collate "C" not null,
    value      text,            -- null: the deployed value
    version    bigint not null default nextval('setting_versions'),
    changed_at timestamptz not null default clock_timestamp(),
    changed_by text not null,
    constraint settings_pkey primary key (name)
);

-- A row is the owner of a task that only one process should run. A row instead of a session
-- lock works through PgBouncer and survives a dead host.
create table leases (
    name  text not null,
    owner text not null,
    until timestamptz not null,
    constraint leases_pkey primary key (name)
) with (fillfactor = 30);

-- A row is when a task last ran on any process, by which it is due again: by the start of a
-- process, processes that are restarted each day would never run it.
create table job_runs (
    name       text collate "C" not null,
    started_at timestamptz not null,
    constraint job_runs_pkey primary key (name)
);

-- A row is a job of an operator, on any node. A node reports a running job every second; one
-- that has not been reported for a while has lost its node. The result is kept with it, so that
-- it can be read after the connection that started the job has ended.
create table jobs (
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

-- A row is a node that is ready, and the backends that answer to it, every two seconds: a node
-- to which a backend does not answer leaves the service only if another node could take its
-- requests, which reaches that backend. The same list is in Redis, for when PostgreSQL is the
-- backend that fails. Unlogged: what it says is outdated after a crash anyway.
create unlogged table node_reports (
    node        text not null,
    roles       text[] not null,
    reaches     text[] not null,
    sequence    bigint not null,
    reported_at timestamptz not null,
    constraint node_reports_pkey primary key (node)
) with (fillfactor = 30);

-- A row is a board of another system that is imported, again and again, without counting a point
-- twice.
create table imports (
    import_id  bigint generated always as identity,
    source     text collate "C" not null,  -- the name of the other system's board
    board_id   text collate "C" not null,
    users      bigint not null default 0,  -- rows of import_scores
    events     bigint not null default 0,  -- ledger rows
    started_at timestamptz not null default clock_timestamp(), -- last
    last_at    timestamptz not null default clock_timestamp(), -- of the last ledger row
    constraint imports_pkey primary key (import_id),
    constraint imports_source_key unique (source, board_id)
) with (fillfactor = 50);

-- A row is what an import has written for a user, whatever the window in which repeats are
-- recognized; the difference to it is what an import writes. A change of one row finds it by the
-- user, whose row is locked. Users are erased by it.
create table import_scores (
    user_id   text collate "C" not null,
    import_id bigint not null,
    score     bigint not null,  -- the user's in the other system
    subscore  bigint not null default 0,
    changes   integer not null, -- how often the import has written the user: the number of its last event
    constraint import_scores_pkey primary key (user_id, import_id)
) with (fillfactor = 90);

-- A row is a webhook: other systems react to the end of a season, a flagged user or a user that
-- reaches the top, without a consumer of Kafka.
create table webhooks (
    webhook_id      text collate "C" not null,
    url             text not null,
    types           text[] not null,
    boards          text[] collate "C",      -- families and boards without periods; null: all
    top             integer,                 -- a rank, for rank.reached
    created_at      timestamptz not null default clock_timestamp(),
    disabled_at     timestamptz,             -- nothing is sent to it, and nothing is queued for it
    disabled_reason text,
    constraint webhooks_pkey primary key (webhook_id)
);

-- A row is a secret that signs messages to a webhook.
create table webhook_secrets (
    webhook_id text collate "C" not null,
    generation integer not null,
    sealed     bytea not null,               -- encrypted with the master key
    retires_at timestamptz,                  -- null: the newest
    constraint webhook_secrets_pkey primary key (webhook_id, generation),
    constraint webhook_secrets_webhook_id_fkey foreign key (webhook_id) references webhooks on delete cascade
);

-- A row is a message. This is the outbox of webhooks: triggers write it in the transaction of
-- the cause, so that no path of the code can forget it. The worker turns each message into one
-- delivery for each webhook.
create table webhook_messages (
    id          bigint generated always as identity,
    type        text not null,
    board_id    text collate "C" not null,
    flag_id     bigint,                      -- of user.flagged
    occurred_at timestamptz not null default clock_timestamp(),
    constraint webhook_messages_pkey primary key (id)
);

-- +goose StatementBegin
create function queue_webhook_flag() returns trigger
language plpgsql as $$
begin
    insert into webhook_messages (type, board_id, flag_id)
    select 'user.flagged', new.board_id, new.id
    where exists (select from webhooks where disabled_at is null and 'user.flagged' = any (types));
    return null;
end
$$;
-- +goose StatementEnd
create trigger flags_queue_webhook after insert on flags for each row execute function queue_webhook_flag();

-- +goose StatementBegin
create function queue_webhook_season() returns trigger
language plpgsql as $$
begin
    insert into webhook_messages (type, board_id)
    select 'season.closed', new.board_id
    where exists (select from webhooks where disabled_at is null and 'season.closed' = any (types));
    return null;
end
$$;
-- +goose StatementEnd
create trigger boards_queue_webhook after update of announced_at on boards for each row
    when (old.announced_at is null and new.announced_at is not null) execute function queue_webhook_season();

-- A row is a message to one webhook.
create table webhook_deliveries (
    id           bigint generated always as identity,
    webhook_id   text collate "C" not null,
    message_id   text not null,              -- the same for all webhooks and attempts
    type         text not null,
    payload      text not null,              -- as it is signed and sent
    state        text not null default 'pending',
    attempts     integer not null default 0,
    created_at   timestamptz not null default clock_timestamp(),
    next_at      timestamptz not null default clock_timestamp(), -- of the next attempt
    ended_at     timestamptz,                -- delivered or failed
    status       integer,                    -- of the last response; null without one
    problem      text,                       -- of the last attempt; null: none
    constraint webhook_deliveries_pkey primary key (id),
    constraint webhook_deliveries_message_key unique (webhook_id, message_id),
    constraint webhook_deliveries_webhook_id_fkey foreign key (webhook_id) references webhooks on delete cascade,
    constraint webhook_deliveries_state_check check (state in ('pending', 'delivered', 'failed'))
);
create index webhook_deliveries_pending on webhook_deliveries (webhook_id, next_at) where state = 'pending';
create index webhook_deliveries_ended on webhook_deliveries (ended_at) where state <> 'pending';

-- A row is who was in the top of a board when it was last compared, for rank.reached.
create table webhook_tops (
    webhook_id text collate "C" not null,
    board_id   text collate "C" not null,    -- the instance
    users      text[] collate "C" not null,
    compared   bigint not null default 0,    -- counts the comparisons that found a change
    constraint webhook_tops_pkey primary key (webhook_id, board_id),
    constraint webhook_tops_webhook_id_fkey foreign key (webhook_id) references webhooks on delete cascade
);

-- A row is the last reward that a webhook of the type reward.granted was told of. Such webhooks
-- are told of a page of grants at a time, so that a million of them do not fill the queue. A
-- message follows from the grant, so none is lost between the two.
create table reward_messages (
    webhook_id text collate "C" not null,
    grant_id   bigint not null, -- told of all grants up to this one
    constraint reward_messages_pkey primary key (webhook_id),
    constraint reward_messages_webhook_id_fkey foreign key (webhook_id) references webhooks on delete cascade
) with (fillfactor = 30);

-- The one row is up to when webhooks were told of users whose own event moved them to another
-- tier. What has moved is read from the outbox, and only while a webhook asks for it.
create table tier_state (
    single     boolean not null default true,
    cluster    text,        -- whose transaction ids the cursor has; null: nobody has asked yet
    cursor_xid xid8 not null default '0', -- webhooks were told of all transactions below
    passed_at  timestamptz not null default '-infinity',
    constraint tier_state_pkey primary key (single),
    constraint tier_state_single_check check (single)
) with (fillfactor = 30);
insert into tier_state default values;
