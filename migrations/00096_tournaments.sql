-- Why: a board with seasons or a schedule can require that users join a period before they submit to it,
-- and limit how many do. board_players has the players of each period, and board_player_counts how many
-- they are, so that a join reads one row for it; whoever adds or removes players locks that row last.
--
-- Only boards with periods can require it, and add_increments takes none of them: an increment of any
-- other board is recorded as it was. Daemons of the version before know none of it: they record what
-- anybody submits, and leave a user whom they erase among the players.

-- +goose Up
alter table boards
    add column join_required boolean not null default false,
    add column late_join boolean not null default false, -- also after the period has begun
    add column max_players bigint not null default 0, -- of a period; 0: no limit
    add constraint boards_join_check check (not join_required or period in ('season', 'cron')),
    add constraint boards_max_players_check check (max_players between 0 and 10000000);

create table board_players (
    board_id  text collate "C" not null, -- the instance
    user_id   text collate "C" not null,
    joined_at timestamptz not null,
    constraint board_players_pkey primary key (board_id, user_id)
);
create index board_players_user on board_players (user_id, board_id);

create table board_player_counts (
    board_id text collate "C" not null, -- the instance
    players  bigint not null,
    constraint board_player_counts_pkey primary key (board_id),
    constraint board_player_counts_players_check check (players >= 0)
) with (fillfactor = 30);

-- +goose Down
drop table board_player_counts;
drop table board_players;
alter table boards
    drop constraint boards_join_check,
    drop column join_required,
    drop column late_join,
    drop column max_players;
