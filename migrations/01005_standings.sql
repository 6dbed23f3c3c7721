-- Why: ranks are counted in an index of standings, which one process updates from the outbox
-- about once a second (package standings). So a user who scores a hundred times in that second
-- costs one entry of the index. Standings may be behind scores, never wrong: standings_state
-- says up to when everything is in them. Final standings are copied when a period ends.

-- +goose Up
-- A row is the position of a user on a board.
create table standings (
    board_id    text collate "C" not null,
    user_id     text collate "C" not null,
    order_key   bigint not null,
    sub_key     bigint not null default 0,
    reached_at  timestamptz not null,
    recorded_at timestamptz not null,
    revision    bigint not null,
    hidden      boolean not null,
    constraint standings_pkey primary key (board_id, user_id)
) with (fillfactor = 90, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
-- The order of positions on every board.
create index standings_ranking on standings (board_id, order_key, sub_key, reached_at, user_id) where not hidden;

-- A row is the cursor in a shard of the outbox, as that of the relays.
create table standings_cursors (
    shard      smallint not null,
    cursor_xid xid8 not null,
    cursor_id  bigint not null,
    constraint standings_cursors_pkey primary key (shard)
) with (fillfactor = 30);

-- The one row is how far the standings are.
create table standings_state (
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
insert into standings_state default values;

-- standings_cluster identifies the cluster, which numbers the transactions. Empty if the
-- role may not know.
create function standings_cluster() returns text
language sql volatile as $$
    select coalesce(split_part(store_history(), '/', 1), '')
$$;

-- standings_stale is whether standings must be filled again: the cursors are of another
-- cluster, partitions were dropped without them, or the table was emptied. Standings have
-- everything that was recorded before as_of: only if they lack that were they emptied.
create function standings_stale() returns boolean
language sql volatile as $$
    select cluster is null or (cluster <> c and '' not in (cluster, c))
        or exists (select from standings_cursors where cursor_xid > pg_snapshot_xmax(pg_current_snapshot()))
        or fill_user is null and not exists (select from standings)
            and exists (select from scores where recorded_at < as_of)
    from standings_state, standings_cluster() as c
$$;

-- reset_standings has standings filled again, from the beginning. Whatever the copies
-- will not see, because its transaction is still running, is behind the cursors.
-- +goose StatementBegin
create function reset_standings() returns void
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
create function fill_standings(most integer) returns boolean
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
        insert into standings as s (board_id, user_id, order_key, sub_key, reached_at, recorded_at, revision, hidden)
        select board_id, user_id, order_key, sub_key, reached_at, recorded_at, revision, hidden from piece
        on conflict (board_id, user_id) do update set order_key = excluded.order_key, sub_key = excluded.sub_key,
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

-- Of a new database, they are complete.
select reset_standings();
select fill_standings(1);

-- No standing without a score: the name of an erased user.
-- +goose StatementBegin
create function delete_standing() returns trigger
language plpgsql as $$
begin
    delete from standings where board_id = old.board_id and user_id = old.user_id;
    return null;
end
$$;
-- +goose StatementEnd
create trigger scores_standing after delete on scores for each row execute function delete_standing();

-- A row is a user's place at the end of a period. Rows never change: users who are banned
-- later are masked when they are read.
--
-- All but the user in a row is public, so a reader of a hash over the rows could try ids until
-- it matched, and so name a hidden or erased user. So the hash of the standings covers a leaf
-- for each row, the hash of the row with a salt. Erasure deletes the salt and keeps the leaf:
-- the hash over the leaves can still be checked.
--
-- On a board with ties = shared, users with the same score have the same rank. The column rank
-- stays that of the order.
create table board_standings (
    board_id    text collate "C" not null,
    rank        bigint not null,
    shared_rank bigint, -- null: ranks are unique
    user_id     text collate "C" not null,
    score       bigint not null,
    order_key   bigint not null,
    subscore    bigint not null default 0,
    sub_key     bigint not null default 0,
    reached_at  timestamptz not null,
    salt        bytea, -- null: of an erased user
    leaf        bytea,
    constraint board_standings_pkey primary key (board_id, rank)
);
create unique index board_standings_user on board_standings (board_id, user_id);

-- unlink_standing deletes what could name the user that a row had before.
-- +goose StatementBegin
create function unlink_standing() returns trigger
language plpgsql as $$
begin
    new.salt := null;
    return new;
end
$$;
-- +goose StatementEnd
create trigger unlink_standing before update of user_id on board_standings
    for each row execute function unlink_standing();

-- rank_in_standings returns the rank that a position would have in final standings, by
-- bisection: they are in the order of positions.
-- +goose StatementBegin
create function rank_in_standings(board text, users bigint, key bigint, sub bigint, reached timestamptz,
    who text) returns bigint
language plpgsql stable as $$
declare
    low    bigint := 0; -- ahead of the position, or 0
    high   bigint := users;
    middle bigint;
    ahead  boolean;
begin
    while low < high loop
        middle := low + (high - low + 1) / 2;
        select (s.order_key, s.sub_key, s.reached_at, s.user_id) < (key, sub, reached, who collate "C") into ahead
        from board_standings as s where s.board_id = board and s.rank = middle;
        if ahead then
            low := middle;
        else
            high := middle - 1;
        end if;
    end loop;
    return low + 1;
end
$$;
-- +goose StatementEnd
