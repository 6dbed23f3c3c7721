-- Why: other systems react to the end of a season, a flagged user or a user that reaches
-- the top, without a consumer of Kafka. webhook_messages is the outbox: triggers write it
-- in the transaction of the cause, so that no path of the code, and no node of the version
-- before, can forget it. The worker turns each message into one delivery for each webhook.

-- +goose Up
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

create table webhook_secrets (
    webhook_id text collate "C" not null,
    generation integer not null,
    sealed     bytea not null,               -- encrypted with the master key
    retires_at timestamptz,                  -- null: the newest
    constraint webhook_secrets_pkey primary key (webhook_id, generation),
    constraint webhook_secrets_webhook_id_fkey foreign key (webhook_id) references webhooks on delete cascade
);

create table webhook_messages (
    id          bigint generated always as identity,
    type        text not null,
    board_id    text collate "C" not null,
    flag_id     bigint,                      -- of user.flagged
    occurred_at timestamptz not null default clock_timestamp(),
    constraint webhook_messages_pkey primary key (id)
);

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

-- Who was in the top of a board when it was last compared, for rank.reached.
create table webhook_tops (
    webhook_id text collate "C" not null,
    board_id   text collate "C" not null,    -- the instance
    users      text[] collate "C" not null,
    compared   bigint not null default 0,    -- counts the comparisons that found a change
    constraint webhook_tops_pkey primary key (webhook_id, board_id),
    constraint webhook_tops_webhook_id_fkey foreign key (webhook_id) references webhooks on delete cascade
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

-- +goose Down
drop trigger boards_queue_webhook on boards;
drop function queue_webhook_season;
drop trigger flags_queue_webhook on flags;
drop function queue_webhook_flag;
drop table webhook_tops;
drop table webhook_deliveries;
drop table webhook_messages;
drop table webhook_secrets;
drop table webhooks;
