-- Why: a board defines what a delta does, who sees it and when its periods end. A periodic
-- board has one row for its rules (the family, which requests name) and one for each period
-- (the instances, which hold the scores). An instance has all rules of its family.

-- +goose Up
-- A row is a board, or a period of one.
create table boards (
    board_id       text collate "C" not null,
    family_id      text collate "C" not null,
    mode           text not null,
    sort_order     text not null default 'highest',
    status         text not null default 'active',
    public         boolean not null default true,
    created_at     timestamptz not null default clock_timestamp(),
    closed_at      timestamptz,
    -- Bounds. bounds_version counts their changes, from 1, so that a reader of a board can
    -- tell whether they have changed since.
    min_delta      bigint not null default 1,
    max_delta      bigint not null default 1000000,
    min_score      bigint not null default -9007199254740991,
    max_score      bigint not null default 9007199254740991,
    bounds_version bigint not null default 1,
    attempts       bigint not null default 0, -- events of a user in a period; 0: no limit
    -- Among equal scores, the subscore decides before the time does. Null: none.
    subscore       text,
    min_subscore   bigint,
    max_subscore   bigint,
    -- Periods.
    period         text not null default 'none',
    schedule       text, -- five fields of cron; only with the period cron
    time_zone      text not null default 'UTC',
    week_start     smallint not null default 1,
    period_start   timestamptz,
    period_end     timestamptz,
    -- The end of a period is stored step by step: closed (closed_at), standings copied and
    -- sealed with a hash (standings_hash), end announced (announced_at), outcomes of the
    -- league stored (league_decided_at). After an interruption of any length the next run
    -- finds the missing steps.
    standings_hash    bytea,
    standings_version smallint, -- the format of the hash
    standings_users   bigint,
    announced_at      timestamptz,
    league            jsonb,    -- null: none
    league_decided_at timestamptz,
    -- A board can require more than a signature: that the increment ends an action that was
    -- started here (an action token, valid once), that a game server confirms it (an
    -- attestation), or that the user has joined the period. The board, not the caller, sets
    -- the limits of an action token.
    require_action_token boolean not null default false,
    require_attestation  boolean not null default false,
    action_least_ms      bigint not null default 0,
    action_life_ms       bigint not null default 0, -- 0: one hour
    join_required        boolean not null default false,
    late_join            boolean not null default false, -- also after the period has begun
    max_players          bigint not null default 0,      -- of a period; 0: no limit
    -- A board of teams ranks what its members have on another board. It takes no increments:
    -- min_delta and max_delta are beyond every delta.
    source_board text collate "C", -- null: no board of teams
    aggregate    text,
    best_of      integer,
    moves        text,
    -- How it is listed and shown. Tiers are named bands of the standings, such as gold for
    -- the first ten: what a standing is in follows from its rank and score.
    region     text,
    platform   text,
    tags       text[] not null default '{}',
    metadata   text,  -- who sees that of submissions; null: none is kept
    ties       text,  -- null: unique ranks
    tiers      jsonb, -- the best first; null: none
    appearance jsonb, -- title, description, colour and image; null: none
    -- In how many partitions of Redis it is ranked. PostgreSQL keeps it in one piece.
    partitions    smallint not null default 1,
    -- Of the default board: the number of the last change of the rules in board_rules.
    rules_version bigint not null default 0,
    constraint boards_pkey primary key (board_id),
    constraint boards_board_id_check check (board_id ~ '^[a-z0-9][a-z0-9_.-]{0,47}(:[a-z0-9][a-z0-9_.-]{0,47})?$'),
    constraint boards_family_id_check check (family_id = split_part(board_id, ':', 1)),
    constraint boards_instance_check check ((board_id = family_id) = (period_start is null)
        and (period_start is null) = (period_end is null) and (period_start is null or period <> 'none')),
    constraint boards_mode_check check (mode in ('increment', 'best', 'latest')),
    constraint boards_sort_order_check check (sort_order in ('highest', 'lowest')),
    constraint boards_status_check check (status in ('active', 'frozen', 'archived')),
    constraint boards_delta_check check (min_delta <= max_delta),
    constraint boards_score_check check (min_score <= max_score
        and min_score >= -9007199254740991 and max_score <= 9007199254740991),
    constraint boards_attempts_check check (attempts between 0 and 1000000),
    constraint boards_subscore_check check (subscore is null
        or subscore in ('highest', 'lowest') and source_board is null),
    constraint boards_subscores_check check (
        num_nonnulls(min_subscore, max_subscore) = case when subscore is null then 0 else 2 end
        and min_subscore <= max_subscore and min_subscore >= -9007199254740991 and max_subscore <= 9007199254740991),
    constraint boards_period_check check (period in ('none', 'daily', 'weekly', 'monthly', 'season', 'cron')),
    constraint boards_schedule_check check ((period = 'cron') = (schedule is not null)),
    constraint boards_week_start_check check (week_start between 1 and 7),
    constraint boards_span_check check (period_start < period_end),
    constraint boards_league_check check (league is null or period <> 'none' and jsonb_typeof(league) = 'object'),
    constraint boards_action_check check (action_least_ms >= 0 and action_life_ms between 0 and 604800000),
    constraint boards_join_check check (not join_required or period in ('season', 'cron')),
    constraint boards_max_players_check check (max_players between 0 and 10000000),
    constraint boards_source_board_check check (num_nulls(source_board, aggregate, moves) in (0, 3)),
    constraint boards_aggregate_check check (aggregate in ('sum', 'average', 'best')),
    constraint boards_best_of_check check ((best_of is not null) = (aggregate is not distinct from 'best')
        and best_of between 1 and 1000),
    constraint boards_moves_check check (moves in ('from_now', 'with_points')),
    constraint boards_metadata_check check (metadata in ('self', 'public')),
    constraint boards_ties_check check (ties = 'shared'),
    constraint boards_tiers_check check (jsonb_typeof(tiers) = 'array' and jsonb_array_length(tiers) between 1 and 20),
    constraint boards_appearance_check
        check (jsonb_typeof(appearance) = 'object' and octet_length(appearance::text) <= 8192),
    constraint boards_partitions_check check (partitions between 1 and 64)
);
-- A write chooses among the instances that have not ended.
create index boards_family on boards (family_id, period_end);
create index boards_ending on boards (period_end) where period_end is not null and announced_at is null;
-- Periods that have not been decided: two or three of each league.
create index boards_league_due on boards (period_end) where league is not null and league_decided_at is null;

insert into boards (board_id, family_id, mode) values ('global', 'global', 'increment');

-- Source of every board's epochs, so that a rebuilt board never reuses one.
create sequence board_epochs;

-- create_board_instance creates a period of a board. It copies every column of the family,
-- including those that later migrations add, except the instance's own. It returns false if
-- the instance already exists.
create function create_board_instance(family text, instance text, starts timestamptz, ends timestamptz) returns boolean
language sql as $$
    with made as (
        insert into boards
        select (jsonb_populate_record(b, jsonb_build_object(
            'board_id', instance, 'status', 'active', 'period_start', starts, 'period_end', ends,
            'created_at', clock_timestamp(), 'closed_at', null, 'standings_hash', null, 'standings_users', null, 'announced_at', null))).*
        from boards as b where board_id = family
        on conflict (board_id) do nothing
        returning true)
    select exists (select from made)
$$;

-- A row is the rule of a board: an increment that names no board also counts on the boards
-- whose rule matches it. Nodes keep the rules in memory. The row of the default board, which
-- the transaction of such an increment reads anyway, has the number of the last change: a
-- node whose rules are older writes nothing, reads the rules and tries again. A rule, a
-- freeze, an unfreeze or an archive of a board that has one is such a change.
create table board_rules (
    board_id   text collate "C" not null, -- a board without periods, or a family
    actions    text[] not null,           -- empty: any
    regions    text[] not null,
    attributes jsonb not null,            -- lists of values by name
    set_at     timestamptz not null default clock_timestamp(),
    constraint board_rules_pkey primary key (board_id)
);

-- A row is a user who has joined a period.
create table board_players (
    board_id  text collate "C" not null, -- the instance
    user_id   text collate "C" not null,
    joined_at timestamptz not null,
    constraint board_players_pkey primary key (board_id, user_id)
);
create index board_players_user on board_players (user_id, board_id);

-- A row is how many players a period has, so that a join reads one row for it. A
-- transaction that adds or removes players locks that row last.
create table board_player_counts (
    board_id text collate "C" not null, -- the instance
    players  bigint not null,
    constraint board_player_counts_pkey primary key (board_id),
    constraint board_player_counts_players_check check (players >= 0)
) with (fillfactor = 30);
