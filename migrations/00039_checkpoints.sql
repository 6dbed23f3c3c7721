-- Why: the ledger has every event with the score before and after it, so it knows the
-- standings of a board at every moment. Reading them takes all rows since the board began,
-- unless the standings of some moments are stored: checkpoints. One process makes them, off
-- the write path. What the ledger does not tell is stored from here on: changes of a user's
-- status, and the standings that corrections leave on best and latest boards.

-- +goose Up
create table checkpoints (
    checkpoint_id bigint generated always as identity,
    board_id      text collate "C" not null,
    at            timestamptz not null,          -- has everything recorded at or before it
    users         bigint not null default 0,     -- that were ranked then
    complete      boolean not null default false,
    constraint checkpoints_pkey primary key (checkpoint_id)
);
create index checkpoints_at on checkpoints (board_id, at);

-- About a thousand standings each, best first. Block −1 has the users who were hidden. They
-- are stored as numbers, so that an erasure changes one row of checkpoint_users.
create table checkpoint_blocks (
    checkpoint_id bigint not null,
    block         integer not null,
    users         integer not null,
    order_key     bigint not null,               -- of the first standing, with reached_at
    reached_at    timestamptz not null,
    standings     bytea not null,
    constraint checkpoint_blocks_pkey primary key (checkpoint_id, block),
    constraint checkpoint_blocks_checkpoint_id_fkey foreign key (checkpoint_id) references checkpoints
        on delete cascade
);
alter table checkpoint_blocks alter column standings set storage external;

create table checkpoint_users (
    number  bigint generated always as identity,
    user_id text collate "C" not null,           -- of an erased user: the anonymous name
    constraint checkpoint_users_pkey primary key (number),
    constraint checkpoint_users_user_key unique (user_id)
);

-- The boards that changed since their last checkpoint.
create table checkpoint_boards (
    board_id text collate "C" not null,
    since    timestamptz not null,               -- nothing changed between the checkpoint and this
    events   bigint not null,                    -- rows of the ledger since then, of all boards
    constraint checkpoint_boards_pkey primary key (board_id)
);

-- Up to when the rows of the ledger are counted in checkpoint_boards.
create table checkpoint_state (
    single  boolean not null default true,
    counted timestamptz,                         -- null: every board needs a checkpoint
    constraint checkpoint_state_pkey primary key (single),
    constraint checkpoint_state_single_check check (single)
);
insert into checkpoint_state default values;

create table user_statuses (
    id      bigint generated always as identity,
    user_id text collate "C" not null,
    status  text not null,                       -- from at on
    at      timestamptz not null,
    constraint user_statuses_pkey primary key (user_id, id)
);
-- Since when is not known.
insert into user_statuses (user_id, status, at)
select user_id, status, '-infinity' from users where status <> 'active' and erased_as is null;

create table corrected_standings (
    user_id    text collate "C" not null,
    board_id   text collate "C" not null,
    version    bigint not null,                  -- of the row of the ledger
    at         timestamptz not null,
    reached_at timestamptz not null,
    empty      boolean not null,                 -- no event counts any more
    constraint corrected_standings_pkey primary key (user_id, board_id, version)
);
create index corrected_standings_at on corrected_standings (board_id, at);

-- settled_at returns a time before which nothing can be recorded any more on the boards of
-- some families, nor any status change ('user statuses' is no family). Every writer takes the
-- advisory lock of the family before it reads the clock, and keeps it until the commit. The
-- owner sees the transactions of all roles.
-- +goose StatementBegin
create function settled_at(families text[]) returns timestamptz
language plpgsql volatile as $$
declare
    at timestamptz := clock_timestamp(); -- before the locks are read
begin
    return least(at, (select min(a.xact_start)
        from pg_locks as l join pg_stat_activity as a on a.pid = l.pid
        where l.locktype = 'advisory' and l.objsubid = 1 and l.granted
            and l.database = (select oid from pg_database where datname = current_database())
            and (l.classid::bigint << 32) | l.objid::bigint in (select hashtextextended(f, 0) from unnest(families) as f)));
end
$$;
-- +goose StatementEnd
select run_as_owner('settled_at(text[])');

-- summarize_ledger completes the index of the ledger by time, which otherwise waits for a
-- vacuum: rows that are not summarized are read by every search.
-- +goose StatementBegin
create function summarize_ledger() returns void
language plpgsql volatile as $$
begin
    perform brin_summarize_new_values(inhrelid::regclass) from pg_inherits
    where inhparent = 'user_score_histories_recorded'::regclass;
end
$$;
-- +goose StatementEnd
select run_as_owner('summarize_ledger()');

-- +goose Down
drop function summarize_ledger;
drop function settled_at;
drop table corrected_standings;
drop table user_statuses;
drop table checkpoint_state;
drop table checkpoint_boards;
drop table checkpoint_users;
drop table checkpoint_blocks;
drop table checkpoints;
