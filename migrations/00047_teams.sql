-- Why: a board of teams ranks what its members have on another board, its source. The
-- standing of a team is an ordinary score of the user team:NAME, which one process computes
-- from the members, about five times a second. It learns from the outbox whose scores have
-- changed, behind a cursor of its own, so that increments pay nothing for it, and daemons of
-- the version before take part without knowing.
--
-- What is computed depends on the state alone: members and scores in one snapshot, under the
-- lock of the team. So a pass that is repeated, or two at once, change nothing.

-- +goose Up
alter table boards
    add column source_board text collate "C",   -- null: no board of teams
    add column aggregate    text,
    add column best_of      integer,
    add column moves        text,
    add constraint boards_source_board_check check (num_nulls(source_board, aggregate, moves) in (0, 3)),
    add constraint boards_aggregate_check check (aggregate in ('sum', 'average', 'best')),
    add constraint boards_best_of_check check ((best_of is not null) = (aggregate is not distinct from 'best')
        and best_of between 1 and 1000),
    add constraint boards_moves_check check (moves in ('from_now', 'with_points'));

create table teams (
    board_id    text collate "C" not null,
    team        text collate "C" not null,
    members     integer not null default 0,      -- that have not left
    memberships integer not null default 0,      -- with those that have
    created_at  timestamptz not null default clock_timestamp(),
    constraint teams_pkey primary key (board_id, team),
    constraint teams_team_check check (team ~ '^[a-z0-9][a-z0-9_.-]{0,47}$')
) with (fillfactor = 50);

-- Who counts for which team when. Scores are those on the source board at that time, read
-- under the lock of the user; 0 without a score.
create table team_members (
    membership_id bigint generated always as identity,
    board_id      text collate "C" not null,
    team          text collate "C" not null,
    user_id       text collate "C" not null,
    joined_at     timestamptz not null,
    joined_score  bigint not null,
    left_at       timestamptz,                   -- null: is a member
    left_score    bigint,
    constraint team_members_pkey primary key (membership_id),
    constraint team_members_left_check check (num_nulls(left_at, left_score) in (0, 2))
) with (fillfactor = 80);
create unique index team_members_member on team_members (board_id, user_id) where left_at is null;
create index team_members_user on team_members (user_id, board_id);
create index team_members_team on team_members (board_id, team, membership_id);

-- Teams to recompute for a reason that is not in the outbox.
create table team_changes (
    change_id bigint generated always as identity,
    board_id  text collate "C" not null,
    team      text collate "C",                  -- null: all teams of the board
    constraint team_changes_pkey primary key (change_id)
);

create table team_state (
    single     boolean not null default true,
    cluster    text,        -- whose transaction ids the cursor has; null: all teams must be computed
    cursor_xid xid8 not null default '0', -- teams have all changes of transactions below
    passed_at  timestamptz not null default '-infinity', -- teams have what was committed before
    constraint team_state_pkey primary key (single),
    constraint team_state_single_check check (single)
) with (fillfactor = 30);
insert into team_state default values;

-- A partition of the outbox also waits for the teams, unless nobody has computed them for
-- five minutes: then all of them are recomputed.
-- +goose StatementBegin
create or replace function outbox_partition_waits(leaf text) returns boolean
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

-- +goose Down
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
drop table team_state, team_changes, team_members, teams;
alter table boards drop column moves, drop column best_of, drop column aggregate, drop column source_board;
