-- Why: a league is a periodic board whose players are in divisions, and in each of these in cohorts of
-- at most a number of players, who compete with each other only. Scores, standings and their seal stay
-- those of the board; a cohort is a list of members beside it. The first submission in a period takes
-- a place, under the lock of the user's row. Divisions change only when a period has ended.
--
-- Daemons of the version before record submissions to a league without taking a place; the next
-- submission through a daemon of this version takes it.

-- +goose Up
alter table boards
    add column league jsonb, -- null: none
    add column league_decided_at timestamptz, -- of an instance: when all outcomes of the period were stored
    add constraint boards_league_check check (league is null or period <> 'none' and jsonb_typeof(league) = 'object');
-- Periods that have not been decided: two or three of each league.
create index boards_league_due on boards (period_end) where league is not null and league_decided_at is null;

-- The players above the lowest division.
create table league_divisions (
    board_id text collate "C" not null, -- the periodic board
    user_id  text collate "C" not null,
    division smallint not null,
    constraint league_divisions_pkey primary key (board_id, user_id),
    constraint league_divisions_division_check check (division between 2 and 20)
) with (fillfactor = 90);
create index league_divisions_user on league_divisions (user_id);

create table league_cohorts (
    cohort_id bigint generated always as identity,
    board_id  text collate "C" not null, -- the period
    division  smallint not null,
    fill      text collate "C" not null, -- the value of the attribute that all its players have
    places    integer not null,          -- taken
    size      integer not null,
    is_full   boolean not null default false, -- has been full: it takes nobody any more
    constraint league_cohorts_pkey primary key (cohort_id),
    constraint league_cohorts_places_check check (places between 0 and size)
) with (fillfactor = 50);
create index league_cohorts_board on league_cohorts (board_id, cohort_id);
create index league_cohorts_open on league_cohorts (board_id, division, fill, cohort_id) where not is_full;

create table league_members (
    user_id   text collate "C" not null,
    board_id  text collate "C" not null, -- the period
    cohort_id bigint, -- null: waiting until the period before has been decided
    fill      text collate "C" not null,
    joined_at timestamptz not null default clock_timestamp(),
    constraint league_members_pkey primary key (user_id, board_id)
);
create index league_members_cohort on league_members (cohort_id) where cohort_id is not null;
create index league_members_waiting on league_members (board_id, user_id) where cohort_id is null;

-- How far the decision of a period is.
create table league_runs (
    board_id    text collate "C" not null, -- the period
    revision    integer not null,
    next_cohort bigint not null default 0,              -- cohorts up to it are decided
    next_idle   text collate "C" not null default '',   -- users without a submission up to it are decided
    moves_sent  bigint not null default 0,              -- webhooks were told of outcomes up to this id
    sent_at     timestamptz,                            -- of all outcomes
    started_at  timestamptz not null default clock_timestamp(),
    constraint league_runs_pkey primary key (board_id)
) with (fillfactor = 30);
create index league_runs_unsent on league_runs (started_at) where sent_at is null;

create table league_outcomes (
    outcome_id    bigint generated always as identity,
    board_id      text collate "C" not null, -- the period
    user_id       text collate "C" not null,
    revision      integer not null,
    cohort_id     bigint,  -- null: without a submission
    rank          integer, -- in the cohort
    players       integer not null, -- ranked in the cohort
    from_division smallint not null, -- of the cohort
    step          smallint not null, -- 1 up, -1 down
    to_division   smallint not null, -- after it
    moved         smallint not null, -- by how many divisions this row has moved the player; 0 where none is left
    decided_at    timestamptz not null default clock_timestamp(),
    constraint league_outcomes_pkey primary key (outcome_id),
    constraint league_outcomes_rank_check check (rank is null or cohort_id is not null and rank between 1 and players),
    constraint league_outcomes_step_check check (step between -1 and 1)
);
-- One outcome for each player of a period, whatever runs twice.
create unique index league_outcomes_player on league_outcomes (user_id, board_id, revision);
create index league_outcomes_board on league_outcomes (board_id, outcome_id);

-- league_place returns a place in an open cohort of a player's division, and opens a cohort if there
-- is none. Cohorts below the minimum come first, the oldest before the others. A cohort that another
-- transaction has locked is passed over: nobody waits for the commit of another one's submission, and
-- no two transactions wait for each other.
-- +goose StatementBegin
create function league_place(player text, instance text, fill_of text) returns bigint
language plpgsql volatile
set enable_seqscan = off
set enable_bitmapscan = off
set plan_cache_mode = force_generic_plan
as $$
declare
    rules jsonb;
    level smallint;
    found_id bigint;
begin
    select b.league into strict rules from boards as b where b.board_id = instance;
    select d.division into level from league_divisions as d
    where d.board_id = split_part(instance, ':', 1) and d.user_id = player;
    level := least(coalesce(level, 1), (rules->>'divisions')::smallint);
    select c.cohort_id into found_id from league_cohorts as c
    where c.board_id = instance and c.division = level and c.fill = fill_of and not c.is_full
    order by c.places >= (rules->>'min')::integer, c.cohort_id limit 1 for update skip locked;
    if found_id is null then
        insert into league_cohorts (board_id, division, fill, places, size)
        values (instance, level, fill_of, 1, (rules->>'cohort_size')::integer) returning cohort_id into found_id;
    else
        update league_cohorts as c set places = c.places + 1, is_full = c.places + 1 = c.size where c.cohort_id = found_id;
    end if;
    return found_id;
end
$$;
-- +goose StatementEnd

-- league_join gives players their places in periods of leagues, unless they have them; their rows of
-- users are locked. While the period before has not been decided, their divisions are not known: they
-- wait, and the decision places them. Families of leagues are locked, shared, before; whoever says that
-- a period has been decided locks the family alone, and so finds all who wait.
-- +goose StatementBegin
create function league_join(players text[], instances text[], fills text[]) returns void
language plpgsql volatile
set enable_seqscan = off
set enable_bitmapscan = off
set plan_cache_mode = force_generic_plan
as $$
begin
    for i in 1 .. cardinality(players) loop
        continue when exists (select from league_members as m
            where m.user_id = players[i] and m.board_id = instances[i]);
        insert into league_members (user_id, board_id, fill, cohort_id)
        values (players[i], instances[i], fills[i],
            case when league_ready(instances[i]) then league_place(players[i], instances[i], fills[i]) end);
    end loop;
end
$$;
-- +goose StatementEnd

-- +goose StatementBegin
create function league_ready(instance text) returns boolean
language sql stable
set enable_seqscan = off
set enable_bitmapscan = off
as $$
    select coalesce((select e.league_decided_at is not null from boards as b join boards as e
            on e.family_id = b.family_id and e.period_end <= b.period_start
        where b.board_id = instance order by e.period_end desc limit 1), true)
$$;
-- +goose StatementEnd

-- +goose Down
drop function league_join;
drop function league_place;
drop function league_ready;
drop table league_outcomes;
drop table league_runs;
drop table league_members;
drop table league_cohorts;
drop table league_divisions;
drop index boards_league_due;
alter table boards drop column league, drop column league_decided_at;
