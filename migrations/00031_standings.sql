-- Why: the ranking index moves from scores to a table of its own, standings, which one
-- process updates from the outbox about once a second (package standings). No index of
-- scores then has a column that an increment changes, so its updates are HOT, and a
-- user who scores a hundred times in that second costs one entry of the index.
--
-- standings may be behind scores, never wrong: standings_state says up to when
-- everything is in them. They are copied from scores in short transactions, while
-- daemons write: what is written meanwhile is behind the cursors, which are set first.
-- This file can be run again after an interruption, and starts from the beginning.

-- +goose NO TRANSACTION
-- +goose Up
create table if not exists standings (
    board_id    text collate "C" not null,
    user_id     text collate "C" not null,
    order_key   bigint not null,
    reached_at  timestamptz not null,
    recorded_at timestamptz not null,
    revision    bigint not null,
    hidden      boolean not null,
    constraint standings_pkey primary key (board_id, user_id)
) with (fillfactor = 90, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
create index if not exists standings_ranking on standings (board_id, order_key, reached_at, user_id) where not hidden;

-- The cursor in each shard of the outbox, as that of the relays.
create table if not exists standings_cursors (
    shard      smallint not null,
    cursor_xid xid8 not null,
    cursor_id  bigint not null,
    constraint standings_cursors_pkey primary key (shard)
) with (fillfactor = 30);

create table if not exists standings_state (
    single      boolean not null default true,
    cluster     text,        -- whose transaction ids the cursors have; null: must be filled again
    generation  bigint not null default 0, -- incremented by each pass
    fill_user   text collate "C", -- the last score that was copied, with fill_board; null: all are
    fill_board  text collate "C",
    as_of       timestamptz, -- all that was committed before is in standings; null: not filled
    pending_at  timestamptz, -- the next as_of, once all below pending_xid is in standings
    pending_xid xid8,
    passed_at   timestamptz not null default clock_timestamp(),
    constraint standings_state_pkey primary key (single),
    constraint standings_state_single_check check (single)
) with (fillfactor = 30);
insert into standings_state default values on conflict do nothing;

-- standings_cluster identifies the cluster, which numbers the transactions. Empty if the
-- role may not know.
create or replace function standings_cluster() returns text
language sql volatile as $$
    select coalesce(split_part(store_history(), '/', 1), '')
$$;

-- standings_stale is whether standings must be filled again: the cursors are of another
-- cluster, partitions were dropped without them, or the table was emptied.
create or replace function standings_stale() returns boolean
language sql volatile as $$
    select cluster is null or (cluster <> c and '' not in (cluster, c))
        or exists (select from standings_cursors where cursor_xid > pg_snapshot_xmax(pg_current_snapshot()))
        or fill_user is null and not exists (select from standings) and exists (select from scores)
    from standings_state, standings_cluster() as c
$$;

-- reset_standings has standings filled again, from the beginning. Whatever the copies
-- will not see, because its transaction is still running, is behind the cursors.
-- +goose StatementBegin
create or replace function reset_standings() returns void
language plpgsql as $$
begin
    update standings_state set cluster = standings_cluster(), generation = generation + 1, fill_user = '',
        fill_board = '', as_of = null, pending_at = now(), pending_xid = null, passed_at = clock_timestamp();
    insert into standings_cursors (shard, cursor_xid, cursor_id)
    select shard, pg_snapshot_xmin(pg_current_snapshot()), 0
    from generate_series(0, greatest((select max(shard) from outbox_score_updates),
        (select max(shard) from standings_cursors), 0)) as shard
    on conflict (shard) do update set cursor_xid = excluded.cursor_xid, cursor_id = excluded.cursor_id;
end
$$;
-- +goose StatementEnd

-- fill_standings copies up to most of the next scores, and returns whether there are
-- more. After the last ones standings are complete as of the reset.
-- +goose StatementBegin
create or replace function fill_standings(most integer) returns boolean
language plpgsql as $$
declare
    state standings_state;
    copied integer;
begin
    perform set_config('enable_seqscan', 'off', true), set_config('enable_sort', 'off', true),
        set_config('enable_bitmapscan', 'off', true);
    select * into state from standings_state for update;
    if state.fill_user is null then
        return false;
    end if;
    with piece as materialized (
        select * from scores where (user_id, board_id) > (state.fill_user, state.fill_board)
        order by user_id, board_id limit most
    ), filled as (
        insert into standings as s (board_id, user_id, order_key, reached_at, recorded_at, revision, hidden)
        select board_id, user_id, order_key, reached_at, recorded_at, revision, hidden from piece
        on conflict (board_id, user_id) do update set order_key = excluded.order_key,
            reached_at = excluded.reached_at, recorded_at = excluded.recorded_at, revision = excluded.revision,
            hidden = excluded.hidden
        where s.revision < excluded.revision
    )
    select (select count(*) from piece), last.user_id, last.board_id into copied, state.fill_user, state.fill_board
    from (values (true)) as one
    left join (select user_id, board_id from piece order by user_id desc, board_id desc limit 1) as last on true;
    if copied < most then
        update standings_state set fill_user = null, fill_board = null, as_of = pending_at, pending_at = null;
    else
        update standings_state set fill_user = state.fill_user, fill_board = state.fill_board;
    end if;
    return copied >= most;
end
$$;
-- +goose StatementEnd

-- No standing without a score, whichever build deletes it: the name of an erased user.
-- +goose StatementBegin
create or replace function delete_standing() returns trigger
language plpgsql as $$
begin
    delete from standings where board_id = old.board_id and user_id = old.user_id;
    return null;
end
$$;
-- +goose StatementEnd
-- Waits for writers, and writers for it: only for a moment at a time.
-- +goose StatementBegin
do $$
begin
    for attempt in 1..600 loop
        begin
            perform set_config('lock_timeout', '100', true);
            create or replace trigger scores_standing after delete on scores
                for each row execute function delete_standing();
            return;
        exception when lock_not_available then
            perform pg_sleep(0.1);
        end;
    end loop;
    raise exception 'table scores is locked' using errcode = 'lock_not_available';
end
$$;
-- +goose StatementEnd

-- A partition also waits for the standings, unless nobody has updated them for two hours
-- (a daemon of the version before does not): then the disk must not fill up for them, and
-- they are filled again.
-- +goose StatementBegin
create or replace function outbox_partition_waits(leaf text) returns boolean
language plpgsql as $$
declare
    waits boolean;
begin
    -- Two index probes per shard, whatever the size.
    execute format($look$
        select exists (
            select from generate_series(0, coalesce((select max(shard) from %1$I), -1)) as t(s)
            cross join lateral (
                select coalesce(r.cursor_xid, '0'::xid8) as xid, coalesce(r.cursor_id, 0) as id
                from (values (true)) as one left join relay_shards as r on r.shard = t.s
                union all
                select coalesce(c.cursor_xid, '0'::xid8), coalesce(c.cursor_id, 0)
                from standings_state left join standings_cursors as c on c.shard = t.s
                where cluster is not null and passed_at > clock_timestamp() - interval '2 hours') as p
            cross join lateral (
                select from %1$I as l where l.shard = t.s and (l.xid, l.id) > (p.xid, p.id) limit 1) as waiting)
        $look$, leaf) into waits;
    return waits;
end
$$;
-- +goose StatementEnd

-- +goose StatementBegin
create or replace function drop_outbox_partition(leaf text) returns boolean
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

-- For what is read of one board: final standings, rebuilds, comparisons.
drop index concurrently if exists scores_board;
create index concurrently scores_board on scores (board_id, user_id);

select reset_standings();
-- +goose StatementBegin
do $$
begin
    while fill_standings(2000) loop
        commit; -- what is copied in one transaction holds back the relays
    end loop;
end
$$;
-- +goose StatementEnd

-- +goose Down
-- +goose StatementBegin
create or replace function outbox_partition_waits(leaf text) returns boolean
language plpgsql as $$
declare
    waits boolean;
begin
    -- One index probe per shard, whatever the size.
    execute format($look$
        select exists (
            select from generate_series(0, coalesce((select max(shard) from %1$I), -1)) as t(s)
            left join relay_shards r on r.shard = t.s
            cross join lateral (
                select from %1$I as l
                where l.shard = t.s and (l.xid, l.id) > (coalesce(r.cursor_xid, '0'::xid8), coalesce(r.cursor_id, 0))
                limit 1) as waiting)
        $look$, leaf) into waits;
    return waits;
end
$$;
-- +goose StatementEnd
-- +goose StatementBegin
create or replace function drop_outbox_partition(leaf text) returns boolean
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
drop trigger if exists scores_standing on scores;
drop function if exists delete_standing;
drop function if exists fill_standings;
drop function if exists reset_standings;
drop function if exists standings_stale;
drop function if exists standings_cluster;
drop table if exists standings_state, standings_cursors, standings;
drop index concurrently if exists scores_board;
