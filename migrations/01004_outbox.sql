-- Why: changes that the relay must publish, written in the transaction that changed the
-- score, so that none is committed without its event. Insert-only: no row is updated or
-- deleted; partitions behind every cursor are dropped.
--
-- The cursor is (xid, id) below the oldest running transaction. Sequence values are assigned
-- at insert, not at commit: with id alone a late commit would be skipped forever.

-- +goose Up
create sequence outbox_score_updates_id;

-- A row is a change of a score.
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
    subscore       bigint,
    sub_key        bigint, -- null: the board has no subscores
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

-- create_outbox_partition creates a partition, unless it exists. Rows are never dead before
-- their partition is dropped, so there is nothing to vacuum, and every query uses the one
-- index.
-- +goose StatementBegin
create function create_outbox_partition(starts timestamptz, ends timestamptz) returns boolean
language plpgsql as $$
declare
    leaf text := 'outbox_score_updates_' || to_char(starts at time zone 'UTC', 'YYYYMMDDHH24MI');
begin
    if (ends - starts between interval '1 minute' and interval '1 day') is not true then
        raise exception 'a partition of the outbox spans a minute to a day, not %', ends - starts
            using errcode = 'invalid_parameter_value';
    end if;
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
select run_as_owner('create_outbox_partition(timestamptz, timestamptz)');

-- A row is a shard: the relay that owns it, the generation and the cursor, and the history
-- whose changes the cursor counts. A lease row instead of a session lock works through
-- PgBouncer and survives a dead host; the generation fences a former owner's cursor. attempts
-- and last_error belong to the row after the cursor.
create table relay_shards (
    shard       smallint not null,
    owner       text,
    generation  bigint not null default 0,
    lease_until timestamptz not null default '-infinity',
    cursor_xid  xid8 not null default '0',
    cursor_id   bigint not null default 0,
    attempts    integer not null default 0,
    last_error  text,
    history     text,
    constraint relay_shards_pkey primary key (shard)
) with (fillfactor = 30);

-- Depth is counted up to a million, more than any healthy backlog.
create view outbox_status as
select r.shard, r.owner, r.generation, r.lease_until, r.cursor_xid, r.cursor_id, r.attempts, r.last_error,
    d.depth, o.recorded_at as oldest_at
from relay_shards r
cross join lateral (
    select count(*) as depth from (
        select from outbox_score_updates
        where shard = r.shard and (xid, id) > (r.cursor_xid, r.cursor_id) limit 1000000) as waiting) as d
left join lateral (
    select recorded_at from outbox_score_updates
    where shard = r.shard and (xid, id) > (r.cursor_xid, r.cursor_id) order by xid, id limit 1) as o on true;

-- A row is a relay that is alive. All see the same list, and each takes its part of the
-- shards; the lease rows decide. Unlogged: the list is rewritten several times a second and is
-- outdated after a crash anyway.
create unlogged table relay_members (
    owner       text not null,
    joined_at   timestamptz not null default clock_timestamp(),
    alive_until timestamptz not null,
    constraint relay_members_pkey primary key (owner)
) with (fillfactor = 30);

-- A row is a process that relays or projects, with the transports that it supports: an
-- operator switches the transport on one node for all, and a switch that one of them cannot
-- follow is rejected. Unlogged, as relay_members.
create unlogged table carriers (
    owner       text not null,
    transports  text[] not null,
    alive_until timestamptz not null,
    constraint carriers_pkey primary key (owner)
) with (fillfactor = 30);

-- outbox_partition_waits returns whether a partition has rows after a cursor: that of the
-- relay, of the standings or of the teams. Standings that nobody has updated for two hours,
-- and teams that nobody has computed for five minutes, do not count: the disk must not fill up
-- for them, and they are filled again.
-- +goose StatementBegin
create function outbox_partition_waits(leaf text) returns boolean
language plpgsql as $$
declare
    waits boolean;
begin
    -- Three index probes per shard, whatever the size.
    execute format($look$
        select exists (
            select from generate_series(0, coalesce((select max(shard) from %1$I), -1)) as t(s)
            cross join lateral (
                select coalesce(r.cursor_xid, '0'::xid8) as xid, coalesce(r.cursor_id, 0) as id
                from (values (true)) as one left join relay_shards as r on r.shard = t.s
                union all
                select coalesce(c.cursor_xid, '0'::xid8), coalesce(c.cursor_id, 0)
                from standings_state left join standings_cursors as c on c.shard = t.s
                where cluster is not null and passed_at > clock_timestamp() - interval '2 hours'
                union all
                select cursor_xid, 0 from team_state
                where cluster is not null and passed_at > clock_timestamp() - interval '5 minutes') as p
            cross join lateral (
                select from %1$I as l where l.shard = t.s and (l.xid, l.id) > (p.xid, p.id) limit 1) as waiting)
        $look$, leaf) into waits;
    return waits;
end
$$;
-- +goose StatementEnd

-- drop_outbox_partition drops a partition without waiting rows, or empties the default one,
-- and returns whether it did. That must be checked under a lock that excludes writers: a
-- transaction that began earlier could still insert a row. The caller sets lock_timeout.
-- +goose StatementBegin
create function drop_outbox_partition(leaf text) returns boolean
language plpgsql as $$
begin
    if not exists (select from pg_inherits as i join pg_class as c on c.oid = i.inhrelid
            where i.inhparent = 'outbox_score_updates'::regclass and c.relname = leaf) then
        raise exception '% is not a partition of the outbox', leaf using errcode = 'invalid_parameter_value';
    end if;
    if outbox_partition_waits(quote_ident(leaf)) then
        return false; -- without blocking writers
    end if;
    lock table only outbox_score_updates in access exclusive mode;
    execute format('lock table %I in access exclusive mode', leaf);
    if outbox_partition_waits(quote_ident(leaf)) then
        return false;
    end if;
    update standings_state set cluster = null, as_of = null
    where cluster is not null and passed_at <= clock_timestamp() - interval '2 hours';
    update team_state set cluster = null
    where cluster is not null and passed_at <= clock_timestamp() - interval '5 minutes';
    if leaf = 'outbox_score_updates_default' then
        truncate outbox_score_updates_default;
    else
        execute format('drop table %I', leaf);
    end if;
    return true;
end
$$;
-- +goose StatementEnd
select run_as_owner('drop_outbox_partition(text)');

-- A row is a record that the pipeline could not process, with the reason and its original
-- bytes. It must not be lost and must not block the rest, and waits here until an operator
-- requeues or drops it.
create table dead_letters (
    id            bigint generated always as identity,
    topic         text not null,     -- origin; 'outbox' if the transport rejected it
    partition     integer not null,  -- or the shard of the outbox
    record_offset bigint not null,   -- or the row id of the outbox
    value         bytea not null,    -- original bytes
    reason        text not null,
    attempts      integer not null,
    buried_at     timestamptz not null default clock_timestamp(),
    constraint dead_letters_pkey primary key (id),
    -- The same record, stored again, is the same letter.
    constraint dead_letters_origin_key unique (topic, partition, record_offset)
);

-- store_history identifies this database's history: the cluster, its timeline, and
-- the database in it, which restoring a dump changes. Null if this role lacks the
-- permission.
--
-- A database that was restored, or a replica promoted without the last commits, has gone back
-- in time. Changes published from the lost history have higher revisions than the database and
-- would win. So the relay's cursor names its history, and each adopted history has a start time.
-- +goose StatementBegin
create function store_history() returns text
language plpgsql volatile as $$
begin
    return (select system_identifier from pg_control_system())
        || '/' || left(pg_walfile_name(pg_current_wal_flush_lsn()), 8)
        || '/' || (select oid from pg_database where datname = current_database());
exception when insufficient_privilege then
    return null;
end
$$;
-- +goose StatementEnd

-- A row is a history that was adopted after another one. Changes recorded before since that
-- are not in the database are lost and must stay lost. A transaction that began before may
-- commit after a rebuild has read its snapshot, with changes that the rebuilt board rejects as
-- lost: rebuilds wait until every transaction older than xid, the adopting one, has ended.
create table adopted_histories (
    history text not null,
    since   timestamptz not null default clock_timestamp(),
    xid     xid8 not null default pg_current_xact_id(),
    constraint adopted_histories_pkey primary key (history, since)
);

-- The one row has a mark that only checks of the history increase, and only while Redis does
-- not know a later one. After a restore the write-ahead log may grow past its old position
-- before anyone looks, above all if little was lost; the mark cannot catch up.
create table history_mark (
    single boolean not null default true,
    mark   bigint not null,
    constraint history_mark_pkey primary key (single),
    constraint history_mark_single_check check (single)
) with (fillfactor = 30);
insert into history_mark (mark) values (1);
