-- Why: what is built on scores and final standings: teams, leagues and rewards. Increments pay
-- nothing for teams and rewards; on a board of a league, the first one in a period takes a place.

-- +goose Up
-- A row is a team on a board of teams. Its standing is an ordinary score of the user team:NAME,
-- which one process computes from the members, about five times a second. It learns from the
-- outbox whose scores have changed, behind a cursor of its own. What is computed depends on the
-- state alone: members and scores in one snapshot, under the lock of the team. So a pass that
-- is repeated, or two at once, change nothing.
create table teams (
    board_id    text collate "C" not null,
    team        text collate "C" not null,
    members     integer not null default 0,      -- that have not left
    memberships integer not null default 0,      -- with those that have
    created_at  timestamptz not null default clock_timestamp(),
    constraint teams_pkey primary key (board_id, team),
    constraint teams_team_check check (team ~ '^[a-z0-9][a-z0-9_.-]{0,47}$')
) with (fillfactor = 50);

-- A row is who counted for which team when. Scores are those on the source board at that time,
-- read under the lock of the user; 0 without a score.
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

-- A row is a team to recompute for a reason that is not in the outbox.
create table team_changes (
    change_id bigint generated always as identity,
    board_id  text collate "C" not null,
    team      text collate "C",                  -- null: all teams of the board
    constraint team_changes_pkey primary key (change_id)
);

-- The one row is how far the teams are.
create table team_state (
    single     boolean not null default true,
    cluster    text,        -- whose transaction ids the cursor has; null: all teams must be computed
    cursor_xid xid8 not null default '0', -- teams have all changes of transactions below
    passed_at  timestamptz not null default '-infinity', -- teams have what was committed before
    constraint team_state_pkey primary key (single),
    constraint team_state_single_check check (single)
) with (fillfactor = 30);
insert into team_state default values;

-- A league is a periodic board whose players are in divisions, and in each of these in cohorts
-- of at most a number of players, who compete with each other only. Scores, standings and their
-- seal stay those of the board; a cohort is a list of members beside it. Divisions change only
-- when a period has ended.
--
-- A row is a player above the lowest division.
create table league_divisions (
    board_id text collate "C" not null, -- the periodic board
    user_id  text collate "C" not null,
    division smallint not null,
    constraint league_divisions_pkey primary key (board_id, user_id),
    constraint league_divisions_division_check check (division between 2 and 20)
) with (fillfactor = 90);
create index league_divisions_user on league_divisions (user_id);

-- A row is a cohort of a period.
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

-- A row is a player of a period. The first submission in a period takes a place, under the lock
-- of the user's row.
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

-- A row is how far the decision of a period is. Its last step places those who wait, and more
-- may come meanwhile than it places. So once all outcomes are stored, players are no longer made
-- to wait, and those who do are placed after that: a number that only falls.
create table league_runs (
    board_id        text collate "C" not null, -- the period
    revision        integer not null,
    next_cohort     bigint not null default 0,            -- cohorts up to it are decided
    next_idle       text collate "C" not null default '', -- users without a submission up to it are decided
    takes_newcomers boolean not null default false,
    moves_sent      bigint not null default 0,            -- webhooks were told of outcomes up to this id
    sent_at         timestamptz,                          -- of all outcomes
    started_at      timestamptz not null default clock_timestamp(),
    constraint league_runs_pkey primary key (board_id)
) with (fillfactor = 30);
create index league_runs_unsent on league_runs (started_at) where sent_at is null;

-- A row is the outcome of a period for a player.
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
-- wait, and the decision places them. Families of leagues are locked, shared, before. The transaction
-- that records a decision locks the family alone, and so finds all users who wait.
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

-- league_ready returns whether newcomers of a period get their places at once.
create function league_ready(instance text) returns boolean
language sql stable
set enable_seqscan = off
set enable_bitmapscan = off
as $$
    select coalesce((select e.league_decided_at is not null
                or exists (select from league_runs as r where r.board_id = e.board_id and r.takes_newcomers)
            from boards as b join boards as e on e.family_id = b.family_id and e.period_end <= b.period_start
        where b.board_id = instance order by e.period_end desc limit 1), true)
$$;

-- A periodic board has a table of rewards, and each winner of a period gets one grant, which the
-- player or a server claims once. Tables are kept with the time since which they were in force,
-- so that the one at the end of a period can be found later; a table without bands grants
-- nothing. Grants are made from the sealed standings, a chunk of ranks in each transaction. These
-- are tables of their own, not columns of boards: nodes read all boards about once a second.
--
-- A row is a table of rewards.
create table reward_tables (
    table_id        bigint generated always as identity,
    board_id        text collate "C" not null, -- the periodic board
    since           timestamptz not null,
    private         boolean not null, -- private users get grants, too
    expires_seconds bigint not null,  -- of a grant, since it was made
    constraint reward_tables_pkey primary key (table_id),
    constraint reward_tables_expires_check check (expires_seconds > 0)
);
create unique index reward_tables_since on reward_tables (board_id, since);

-- A row is a band of a table: by ranks, by a part of the users, by a tier or by a division.
create table reward_bands (
    table_id   bigint not null,
    band       integer not null, -- from 1; a user gets that of the first that holds
    first_rank bigint,
    last_rank  bigint,
    percent    bigint, -- thousandths of a percent of the ranked users, best first
    tier       text,
    division   smallint,
    reward     text not null, -- JSON, as it was given
    constraint reward_bands_pkey primary key (table_id, band),
    constraint reward_bands_table_id_fkey foreign key (table_id) references reward_tables,
    constraint reward_bands_bound_check check (num_nonnulls(last_rank, percent, tier, division) = 1
        and (first_rank is null) = (last_rank is null) and first_rank between 1 and last_rank
        and division between 1 and 20),
    constraint reward_bands_reward_check check (octet_length(reward) <= 2048)
);

-- A row is a board that has had a table.
create table reward_boards (
    board_id      text collate "C" not null,
    granted_until timestamptz not null, -- periods that ended until then need nothing more
    constraint reward_boards_pkey primary key (board_id)
);

-- A row is how far the grants of a period are: it has the next rank, so that any process can go on.
create table reward_runs (
    board_id   text collate "C" not null, -- the instance
    table_id   bigint not null,
    revision   integer not null, -- of the standings
    next_rank  bigint not null default 1,
    granted    bigint not null default 0,
    started_at timestamptz not null default clock_timestamp(),
    ended_at   timestamptz,
    constraint reward_runs_pkey primary key (board_id),
    constraint reward_runs_table_id_fkey foreign key (table_id) references reward_tables
) with (fillfactor = 30);

-- A row is a reward that a user got.
create table reward_grants (
    grant_id   bigint generated always as identity,
    board_id   text collate "C" not null, -- the instance, whose name begins with its board's
    user_id    text collate "C" not null,
    rank       bigint,  -- in the standings; null: an operator's grant
    table_id   bigint,  -- null: an operator's grant
    band       integer,
    revision   integer, -- of the standings
    reward     text,    -- of an operator's grant; null: that of the band
    granted_at timestamptz not null,
    expires_at timestamptz not null,
    claimed_at timestamptz,
    revoked_at timestamptz,
    voids      integer not null default 0, -- in force that took it back: rows of void_rewards
    constraint reward_grants_pkey primary key (grant_id),
    constraint reward_grants_source_check check (
        num_nonnulls(rank, table_id, band, revision) = case when reward is null then 4 else 0 end),
    constraint reward_grants_reward_check check (octet_length(reward) <= 2048),
    constraint reward_grants_claim_check check (claimed_at is null or revoked_at is null),
    constraint reward_grants_voids_check check (voids >= 0)
);
-- One grant for each winner of a period, whatever runs twice.
create unique index reward_grants_winner on reward_grants (board_id, user_id);
create index reward_grants_user on reward_grants (user_id, grant_id);
-- A webhook that is told of the rewards of some boards reads only their grants.
create index reward_grants_board on reward_grants (split_part(board_id, ':', 1), grant_id);
