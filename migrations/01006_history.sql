-- Why: the ledger has every event with the score before and after it, so it knows the
-- standings of a board at every moment. Reading them takes all rows since the board began,
-- unless the standings of some moments are stored: checkpoints. One process makes them, off
-- the write path. What the ledger does not tell is stored beside it: changes of a user's
-- status (user_statuses), and the standings that corrections leave on best and latest boards.

-- +goose Up
-- A row is a moment of a board whose standings are stored. What led to a moment before the
-- first partition of the ledger is in the archive: on request its files are read, and the
-- checkpoint at that moment is kept for some days and never decides which moments are archived.
create table checkpoints (
    checkpoint_id bigint generated always as identity,
    board_id      text collate "C" not null,
    at            timestamptz not null,          -- has everything recorded at or before it
    users         bigint not null default 0,     -- that were ranked then
    complete      boolean not null default false,
    kept_until    timestamptz,                   -- null: made for the retention of checkpoints
    -- Block −2 has the scores that were computed without the events reversed by then; null: none.
    corrected_at  timestamptz,
    constraint checkpoints_pkey primary key (checkpoint_id)
);
create index checkpoints_at on checkpoints (board_id, at);

-- A row is about a thousand standings of a checkpoint, best first. Block −1 has the users who
-- were hidden. Users are stored as numbers, so that an erasure changes one row of
-- checkpoint_users.
create table checkpoint_blocks (
    checkpoint_id bigint not null,
    block         integer not null,
    users         integer not null,
    order_key     bigint not null,               -- of the first standing, with sub_key and reached_at
    sub_key       bigint not null default 0,
    reached_at    timestamptz not null,
    standings     bytea not null,
    constraint checkpoint_blocks_pkey primary key (checkpoint_id, block),
    constraint checkpoint_blocks_checkpoint_id_fkey foreign key (checkpoint_id) references checkpoints
        on delete cascade
);
alter table checkpoint_blocks alter column standings set storage external;

-- A row is the number of a user in the blocks.
create table checkpoint_users (
    number  bigint generated always as identity,
    user_id text collate "C" not null,           -- of an erased user: the anonymous name
    constraint checkpoint_users_pkey primary key (number),
    constraint checkpoint_users_user_key unique (user_id)
);

-- A row is a board that changed since its last checkpoint.
create table checkpoint_boards (
    board_id text collate "C" not null,
    since    timestamptz not null,               -- nothing changed between the checkpoint and this
    events   bigint not null,                    -- rows of the ledger since then, of all boards
    constraint checkpoint_boards_pkey primary key (board_id)
);

-- The one row is up to when the rows of the ledger are counted in checkpoint_boards.
create table checkpoint_state (
    single  boolean not null default true,
    counted timestamptz,                         -- null: every board needs a checkpoint
    constraint checkpoint_state_pkey primary key (single),
    constraint checkpoint_state_single_check check (single)
);
insert into checkpoint_state default values;

-- A row is the standing that a correction left a user on a best or latest board.
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

-- A row is how far the hourly samples of a board are. Best rank, days in the top 10 and biggest
-- climb of all time cannot be read from the ledger: each rank takes the standings of everyone.
-- The process that makes checkpoints reads the first 1,000 ranks of each board once an hour.
create table rank_samples (
    board_id   text collate "C" not null,
    hour       timestamptz not null,         -- the last hour that was dealt with
    sampled_at timestamptz,                  -- the last hour at which ranks were read; null: never
    since      timestamptz,                  -- the first one
    constraint rank_samples_pkey primary key (board_id)
);

-- A row is what stands out of a user's samples on a board.
create table rank_marks (
    board_id       text collate "C" not null,
    user_id        text collate "C" not null,
    best_rank      bigint not null,
    best_rank_at   timestamptz not null,     -- the first sample with it
    days_in_top_10 bigint not null,
    last_top_10    date,                     -- the last day counted, in UTC
    last_rank      bigint not null,
    last_at        timestamptz not null,     -- the last sample with the user
    climb_from     bigint,                   -- ranks of the biggest climb; null: none
    climb_to       bigint,
    climb_began_at timestamptz,
    climb_ended_at timestamptz,
    constraint rank_marks_pkey primary key (board_id, user_id),
    constraint rank_marks_user_id_fkey foreign key (user_id) references users on delete cascade
) with (fillfactor = 70);
create index rank_marks_user on rank_marks (user_id);
