-- Why: the end of a period is durable, step by step: closed (closed_at), its
-- standings copied and sealed by a hash (standings_hash), its end announced
-- (announced_at). Each step is found undone by whoever looks next, however long
-- nobody did.

-- +goose Up
alter table boards add column standings_users bigint, add column announced_at timestamptz;
create index boards_ending on boards (period_end) where period_end is not null and announced_at is null;

-- As they were when the period ended. Rows are never changed: who is banned
-- later is masked when they are read.
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

-- Who does what only one process should be busy with. A row instead of a
-- session lock works through PgBouncer and survives a dead host.
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
