-- Why: what the relay has to publish, written in the transaction that changed
-- the score, so that a commit without its event cannot be. Insert-only: a row
-- is never updated or deleted; partitions behind every cursor are dropped.
--
-- The cursor is (xid, id) below the oldest running transaction. Sequence values
-- are taken at insert, not at commit: by id alone a late commit would be
-- skipped for ever.

-- +goose Up
create sequence outbox_score_updates_id;
create table outbox_score_updates (
    xid            xid8 not null default pg_current_xact_id(),
    id             bigint not null default nextval('outbox_score_updates_id'),
    shard          smallint not null,
    event_type     text not null default 'score.changed',
    event_id       uuid not null,
    user_id        text collate "C" not null,
    board_id       text collate "C" not null,
    score          bigint not null,
    previous_score bigint,
    delta          bigint not null,
    order_key      bigint not null,
    version        bigint not null,
    revision       bigint not null,
    reached_at     timestamptz not null,
    recorded_at    timestamptz not null,
    hidden         boolean not null default false,
    trace          text
) partition by range (recorded_at);
create index outbox_score_updates_cursor on outbox_score_updates (shard, xid, id);

-- The net under a maintenance that has not run: rows are never refused for
-- want of a partition.
create table outbox_score_updates_default partition of outbox_score_updates default;

-- Nothing in a partition dies before the partition does, so there is nothing to
-- vacuum, and all that is asked of it goes by the one index.
-- +goose StatementBegin
create function create_outbox_partition(starts timestamptz, ends timestamptz) returns boolean
language plpgsql as $$
declare
    leaf text := 'outbox_score_updates_' || to_char(starts at time zone 'UTC', 'YYYYMMDDHH24MI');
begin
    if to_regclass(leaf) is not null then
        return false;
    end if;
    execute format('create table %I (like outbox_score_updates including defaults) with (autovacuum_enabled = false)', leaf);
    execute format('alter table outbox_score_updates attach partition %I for values from (%L) to (%L)',
                   leaf, starts, ends);
    return true;
end
$$;
-- +goose StatementEnd

-- One row a shard: who relays it, under which generation, and how far it is.
-- A lease row instead of a session lock works through PgBouncer and survives a
-- dead host; the generation fences a former owner's cursor.
create table relay_shards (
    shard       smallint not null,
    owner       text,
    generation  bigint not null default 0,
    lease_until timestamptz not null default '-infinity',
    cursor_xid  xid8 not null default '0',
    cursor_id   bigint not null default 0,
    constraint relay_shards_pkey primary key (shard)
) with (fillfactor = 30);

-- +goose Down
drop table relay_shards;
drop table outbox_score_updates;
drop function create_outbox_partition;
drop sequence outbox_score_updates_id;
