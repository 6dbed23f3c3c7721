-- Why: a player wants to know their rank among friends. Each row says that a user has
-- asked for, or accepted, a friendship; two users are friends if there is a row in each
-- direction. So two requests at a time need no common row, and an answer needs no other
-- state than its own.

-- +goose Up
create table friends (
    user_id        text collate "C" not null,
    friend_user_id text collate "C" not null,
    created_at     timestamptz not null default clock_timestamp(),
    constraint friends_pkey primary key (user_id, friend_user_id),
    constraint friends_not_self_check check (user_id <> friend_user_id)
);
create index friends_received on friends (friend_user_id, user_id);

-- +goose Down
drop table friends;
