-- Why: changes that the relay must publish, written in the transaction that
-- changed the score, so that none is committed without its event. Insert-only: no
-- row is updated or deleted; partitions behind every cursor are dropped.
--
-- The cursor is (xid, id) below the oldest running transaction. Sequence values
-- are assigned at insert, not at commit: with id alone a late commit would be
-- skipped forever.

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

-- Used if maintenance has not created the next partition: rows are never
-- rejected because a partition is missing.
create table outbox_score_updates_default partition of outbox_score_updates default;

-- Rows are never dead before their partition is dropped, so there is nothing to
-- vacuum, and every query uses the one index.
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

-- One row per shard: the relay that owns it, the generation and the cursor. A
-- lease row instead of a session lock works through PgBouncer and survives a dead
-- host; the generation fences a former owner's cursor.
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
