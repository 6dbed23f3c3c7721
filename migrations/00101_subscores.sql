-- Why: on a board with subscores, a second score decides among equal scores before the time does. The
-- ledger keeps it of each event, and the score of the user before and after; all other tables that are in
-- the order of a board have its sort key, sub_key, between order_key and reached_at. It is 0 on boards
-- without subscores, which keeps their order, and their increments write what they wrote: add_increments
-- refuses the boards with subscores, as it does those with metadata.
--
-- Daemons of the version before know none of it. On a board with subscores, min_delta and max_delta are
-- beyond every delta, so they reject its increments; the bounds are in pair_min_delta and pair_max_delta.
-- What they put into standings has no sub_key: standings_state.pairs_generation is the last pass of a daemon
-- that knows subscores, and if another one has passed since, standings are filled again.
--
-- This file can be run again after an interruption.

-- +goose NO TRANSACTION
-- +goose Up
alter table boards
    add column if not exists subscore text, -- null: none
    add column if not exists min_subscore bigint,
    add column if not exists max_subscore bigint,
    add column if not exists pair_min_delta bigint,
    add column if not exists pair_max_delta bigint,
    drop constraint if exists boards_subscore_check,
    add constraint boards_subscore_check check (subscore is null
        or subscore in ('highest', 'lowest') and source_board is null),
    drop constraint if exists boards_subscores_check,
    add constraint boards_subscores_check check (
        num_nonnulls(min_subscore, max_subscore) = case when subscore is null then 0 else 2 end
        and min_subscore <= max_subscore and min_subscore >= -9007199254740991 and max_subscore <= 9007199254740991),
    drop constraint if exists boards_pair_delta_check,
    add constraint boards_pair_delta_check check ((pair_min_delta is null) = (pair_max_delta is null)
        and (subscore is not null or pair_min_delta is null) and pair_min_delta <= pair_max_delta);
alter table scores
    add column if not exists subscore bigint not null default 0,
    add column if not exists sub_key bigint not null default 0;
alter table user_score_histories
    add column if not exists subscore bigint,
    add column if not exists previous_subscore bigint,
    add column if not exists new_subscore bigint; -- null: the board has no subscores
alter table outbox_score_updates
    add column if not exists subscore bigint,
    add column if not exists sub_key bigint; -- null: the board has no subscores
alter table standings add column if not exists sub_key bigint not null default 0;
alter table standings_state add column if not exists pairs_generation bigint not null default 0;
alter table board_standings
    add column if not exists subscore bigint not null default 0,
    add column if not exists sub_key bigint not null default 0;
alter table checkpoint_blocks add column if not exists sub_key bigint not null default 0;
alter table import_scores add column if not exists subscore bigint not null default 0;

-- The order of positions on every board. A daemon of the version before still runs, but its reads without
-- Redis sort the whole board.
drop index concurrently if exists standings_order;
create index concurrently standings_order on standings (board_id, order_key, sub_key, reached_at, user_id)
    where not hidden;
drop index concurrently if exists standings_ranking;
alter index standings_order rename to standings_ranking;

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
        insert into standings as s (board_id, user_id, order_key, sub_key, reached_at, recorded_at, revision, hidden)
        select board_id, user_id, order_key, sub_key, reached_at, recorded_at, revision, hidden from piece
        on conflict (board_id, user_id) do update set order_key = excluded.order_key, sub_key = excluded.sub_key,
            reached_at = excluded.reached_at, recorded_at = excluded.recorded_at, revision = excluded.revision,
            hidden = excluded.hidden
        -- Also the standing of this revision, which a daemon of the version before may have put.
        where s.revision < excluded.revision or s.revision = excluded.revision and s.sub_key <> excluded.sub_key
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

-- Beside the function without the subscore, which daemons of the version before call.
-- +goose StatementBegin
create or replace function rank_in_standings(board text, users bigint, key bigint, sub bigint, reached timestamptz,
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

-- A repeat of an event that counts on a board with subscores needs a decision as well: its receipt has them.
-- +goose StatementBegin
do $$
declare
    edits text[] := array[
        'b.metadata is null', 'b.metadata is null and b.subscore is null',
        'repeats bigint[];', 'repeats bigint[];
    paired boolean; -- one of them counts on a board with subscores',
        'r.event_id = h.event_id and not r.internal))', 'r.event_id = h.event_id and not r.internal)),
            bool_or(h.new_subscore is not null)',
        'known_times, known_reversed
        from', 'known_times, known_reversed, paired
        from',
        '-- The sums again', 'if paired then
            raise sqlstate ''SB001'';
        end if;
        ' || '-- The sums again'];
    body  text := pg_get_functiondef('add_increments'::regproc);
    times integer;
begin
    if position('b.subscore is null' in body) > 0 then
        return; -- this file was interrupted
    end if;
    for i in 1 .. cardinality(edits) by 2 loop
        times := (length(body) - length(replace(body, edits[i], ''))) / length(edits[i]);
        if times <> (case when i = 1 then 2 else 1 end) then
            raise exception 'add_increments is not the function that this migration changes';
        end if;
        body := replace(body, edits[i], edits[i + 1]);
    end loop;
    execute body;
end
$$;
-- +goose StatementEnd

-- +goose Down
-- +goose StatementBegin
do $$
declare
    body text := replace(pg_get_functiondef('add_increments'::regproc), ' and b.subscore is null', '');
begin
    body := replace(body, '
    paired boolean; -- one of them counts on a board with subscores', '');
    body := replace(body, ',
            bool_or(h.new_subscore is not null)', '');
    body := replace(body, ', paired
        from', '
        from');
    execute replace(body, 'if paired then
            raise sqlstate ''SB001'';
        end if;
        ', '');
end
$$;
-- +goose StatementEnd
drop function if exists rank_in_standings(text, bigint, bigint, bigint, timestamptz, text);
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
drop index concurrently if exists standings_order;
create index concurrently standings_order on standings (board_id, order_key, reached_at, user_id) where not hidden;
drop index concurrently if exists standings_ranking;
alter index standings_order rename to standings_ranking;
alter table import_scores drop column if exists subscore;
alter table checkpoint_blocks drop column if exists sub_key;
alter table board_standings drop column if exists subscore, drop column if exists sub_key;
alter table standings_state drop column if exists pairs_generation;
alter table standings drop column if exists sub_key;
alter table outbox_score_updates drop column if exists subscore, drop column if exists sub_key;
alter table user_score_histories
    drop column if exists subscore, drop column if exists previous_subscore, drop column if exists new_subscore;
alter table scores drop column if exists subscore, drop column if exists sub_key;
update boards set min_delta = pair_min_delta, max_delta = pair_max_delta where pair_min_delta is not null;
alter table boards
    drop constraint if exists boards_subscores_check, drop constraint if exists boards_pair_delta_check,
    drop column if exists subscore, drop column if exists min_subscore, drop column if exists max_subscore,
    drop column if exists pair_min_delta, drop column if exists pair_max_delta;
