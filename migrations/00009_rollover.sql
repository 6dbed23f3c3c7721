-- Why: the end of a period is stored step by step: closed (closed_at), standings
-- copied and sealed with a hash (standings_hash), end announced (announced_at).
-- After an interruption of any length the next run finds the missing steps.

-- +goose Up
alter table boards add column standings_users bigint, add column announced_at timestamptz;
create index boards_ending on boards (period_end) where period_end is not null and announced_at is null;

-- Standings at the end of the period. Rows never change: users who are banned
-- later are masked when they are read.
create table board_standings (
    board_id   text collate "C" not null,
    rank       bigint not null,
    user_id    text collate "C" not null,
    score      bigint not null,
    order_key  bigint not null,
    reached_at timestamptz not null,
    constraint board_standings_pkey primary key (board_id, rank)
);
create unique index board_standings_user on board_standings (board_id, user_id);

-- Owners of tasks that only one process should run. A row instead of a session
-- lock works through PgBouncer and survives a dead host.
create table leases (
    name  text not null,
    owner text not null,
    until timestamptz not null,
    constraint leases_pkey primary key (name)
) with (fillfactor = 30);

-- +goose Down
drop table leases;
drop table board_standings;
drop index boards_ending;
alter table boards drop column standings_users, drop column announced_at;
