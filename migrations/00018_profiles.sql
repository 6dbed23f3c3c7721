-- Why: how users are shown beside their scores. Nothing waits for profiles, and no
-- event carries them. Nodes cache the ones they need and poll for changes, hence
-- the index; an emptied profile stays as a row so that nodes notice the change.

-- +goose Up
create table profiles (
    user_id      text collate "C" not null,
    display_name text,
    avatar_url   text,
    updated_at   timestamptz not null default clock_timestamp(),
    constraint profiles_pkey primary key (user_id),
    constraint profiles_display_name_check check (octet_length(display_name) between 1 and 128),
    constraint profiles_avatar_url_check check (octet_length(avatar_url) between 1 and 512)
);
create index profiles_updated on profiles (updated_at, user_id);

-- +goose Down
drop table profiles;
