-- Why: the current scores. Every write is serialized by its user (writers lock
-- users rows first), a score is the current state of one user on one board, and a
-- board defines what a delta does.
--
-- The user comes first in every key, so that the whole write path can be
-- sharded by user. Text that orders or keys is collate "C": byte order, the
-- same as in Redis.

-- +goose Up
create table boards (
    board_id     text collate "C" not null,
    family_id    text collate "C" not null,
    mode         text not null,
    sort_order   text not null default 'highest',
    status       text not null default 'active',
    min_delta    bigint not null default 1,
    max_delta    bigint not null default 1000000,
    min_score    bigint not null default -9007199254740991,
    max_score    bigint not null default 9007199254740991,
    public       boolean not null default true,
    region       text,
    period       text not null default 'none',
    time_zone    text not null default 'UTC',
    week_start   smallint not null default 1,
    period_start timestamptz,
    period_end   timestamptz,
    created_at   timestamptz not null default clock_timestamp(),
    closed_at    timestamptz,
    standings_hash bytea,
    constraint boards_pkey primary key (board_id),
    constraint boards_mode_check check (mode in ('increment', 'best', 'latest')),
    constraint boards_sort_order_check check (sort_order in ('highest', 'lowest')),
    constraint boards_status_check check (status in ('active', 'frozen', 'archived')),
    constraint boards_period_check check (period in ('none', 'daily', 'weekly', 'monthly', 'season')),
    constraint boards_delta_check check (min_delta <= max_delta),
    constraint boards_score_check check (min_score <= max_score
        and min_score >= -9007199254740991 and max_score <= 9007199254740991),
    constraint boards_week_start_check check (week_start between 1 and 7),
    constraint boards_span_check check (period_start < period_end)
);
create index boards_family on boards (family_id, period_start);

insert into boards (board_id, family_id, mode) values ('global', 'global', 'increment');

-- Source of every board's epochs, so that a rebuilt board never reuses one.
create sequence board_epochs;

-- last_recorded_at keeps the ledger's times increasing for each user even when
-- the clock goes back. No index contains it, so its updates are HOT.
create table users (
    user_id          text collate "C" not null,
    status           text not null default 'active',
    last_recorded_at timestamptz not null default '-infinity',
    created_at       timestamptz not null default clock_timestamp(),
    constraint users_pkey primary key (user_id),
    constraint users_user_id_check check (octet_length(user_id) between 1 and 64),
    constraint users_status_check check (status in ('active', 'frozen', 'banned'))
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);

-- order_key is the score in ranking order, lower first (−score where the highest
-- is first): one ascending index ranks every board, and on equal keys the earlier
-- reached_at is first.
create table scores (
    user_id     text collate "C" not null,
    board_id    text collate "C" not null,
    score       bigint not null,
    order_key   bigint not null,
    version     bigint not null,
    revision    bigint not null,
    reached_at  timestamptz not null,
    recorded_at timestamptz not null,
    hidden      boolean not null default false,
    constraint scores_pkey primary key (user_id, board_id),
    constraint scores_score_check check (score between -9007199254740991 and 9007199254740991),
    constraint scores_order_key_check check (order_key = score or order_key = -score),
    constraint scores_version_check check (version >= 1 and revision >= 1)
) with (fillfactor = 75, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
create index scores_ranking on scores (board_id, order_key, reached_at, user_id) where not hidden;

-- +goose Down
drop table scores;
drop table users;
drop sequence board_epochs;
drop table boards;
