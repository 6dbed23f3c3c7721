-- Why: a periodic board has a table of rewards, and each winner of a period gets one grant, which
-- the player or a server claims once. Tables are kept with the time since which they were in
-- force, so that the one at the end of a period can be found later; a table without bands grants
-- nothing. Grants are made from the sealed standings, a chunk of ranks in each transaction;
-- reward_runs has the next rank, so that any process can go on.
--
-- They are tables of their own, not columns of boards: nodes read all boards about once a second.
-- Daemons of the version before know none of it, and end periods as they did.

-- +goose Up
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

create table reward_bands (
    table_id   bigint not null,
    band       integer not null, -- from 1; a user gets that of the first that holds
    first_rank bigint,
    last_rank  bigint,
    percent    bigint, -- thousandths of a percent of the ranked users, best first
    tier       text,
    reward     text not null, -- JSON, as it was given
    constraint reward_bands_pkey primary key (table_id, band),
    constraint reward_bands_table_id_fkey foreign key (table_id) references reward_tables,
    constraint reward_bands_bound_check check (num_nonnulls(last_rank, percent, tier) = 1
        and (first_rank is null) = (last_rank is null) and first_rank between 1 and last_rank),
    constraint reward_bands_reward_check check (octet_length(reward) <= 2048)
);

-- The boards that have had a table.
create table reward_boards (
    board_id      text collate "C" not null,
    granted_until timestamptz not null, -- periods that ended until then need nothing more
    constraint reward_boards_pkey primary key (board_id)
);

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
    constraint reward_grants_pkey primary key (grant_id),
    constraint reward_grants_source_check check (
        num_nonnulls(rank, table_id, band, revision) = case when reward is null then 4 else 0 end),
    constraint reward_grants_reward_check check (octet_length(reward) <= 2048),
    constraint reward_grants_claim_check check (claimed_at is null or revoked_at is null)
);
-- One grant for each winner of a period, whatever runs twice.
create unique index reward_grants_winner on reward_grants (board_id, user_id);
create index reward_grants_user on reward_grants (user_id, grant_id);

-- The rank that a position would have in final standings, by bisection: they are in the order of positions.
-- +goose StatementBegin
create function rank_in_standings(board text, users bigint, key bigint, reached timestamptz, who text) returns bigint
language plpgsql stable as $$
declare
    low    bigint := 0; -- ahead of the position, or 0
    high   bigint := users;
    middle bigint;
    ahead  boolean;
begin
    while low < high loop
        middle := low + (high - low + 1) / 2;
        select (s.order_key, s.reached_at, s.user_id) < (key, reached, who collate "C") into ahead
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

-- +goose Down
drop function rank_in_standings;
drop table reward_grants;
drop table reward_runs;
drop table reward_boards;
drop table reward_bands;
drop table reward_tables;
