-- Why: every write is serialized by its user: writers lock the row of the user first. The
-- other tables say how users are shown, who they are elsewhere, and what they were when.

-- +goose Up
-- A row is a user. last_recorded_at keeps the ledger's times increasing for each user even
-- when the clock goes back. No index contains it, so its updates are HOT.
--
-- A private user has left all boards and goes on playing: what is recorded for the user is
-- hidden, as is what is recorded for a banned one. An erased user's rows move to an anonymous
-- one in steps; an empty tombstone keeps the name for a time, so that late events cannot
-- restore it.
create table users (
    user_id          text collate "C" not null,
    status           text not null default 'active',
    private          boolean not null default false,
    last_recorded_at timestamptz not null default '-infinity',
    created_at       timestamptz not null default clock_timestamp(),
    erased_as        text,
    erased_at        timestamptz,
    constraint users_pkey primary key (user_id),
    constraint users_user_id_check check (octet_length(user_id) between 1 and 64),
    constraint users_status_check check (status in ('active', 'frozen', 'banned', 'erased'))
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
create index users_erased on users (erased_at) where erased_as is not null;
-- The board at a moment leaves out who is banned or erased now.
create index users_hidden on users (user_id) where status in ('banned', 'erased');

-- check_erased makes sure that anonymous is the name under which user is erased.
-- +goose StatementBegin
create function check_erased(erased text, anonymous text) returns void
language plpgsql as $$
begin
    if (anonymous like 'erased-%' and exists (select from users
            where user_id = erased and status = 'erased' and erased_as = anonymous)) is not true then
        raise exception 'the user is not erased under this name' using errcode = 'invalid_parameter_value';
    end if;
end
$$;
-- +goose StatementEnd

-- A row is a change of a user's status, for boards of the past.
create table user_statuses (
    id      bigint generated always as identity,
    user_id text collate "C" not null,
    status  text not null, -- from at on
    at      timestamptz not null,
    constraint user_statuses_pkey primary key (user_id, id)
);

-- A row is how a user is shown beside scores. Nothing waits for profiles, and no event
-- carries them. Nodes cache the ones they need and poll for changes, hence the index; an
-- emptied profile stays as a row so that nodes notice the change.
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
-- Operators find users by the beginning of their display name.
create index profiles_name on profiles (lower(display_name) collate "C", user_id) where display_name is not null;

-- A row is who sees a user on boards. Rankings, the ledger and the outbox keep user ids; each
-- node replaces the ids of hidden users in what it shows. Nodes hold all hidden users and poll
-- for changes, hence the index; a user who is public again stays as a row, so that nodes
-- notice the change and the pseudonyms stay the same.
create table user_privacy (
    user_id       text collate "C" not null,
    visibility    text not null,
    pseudonym_key bytea not null,
    changed_at    timestamptz not null default clock_timestamp(),
    returns       timestamptz[] not null default '{}', -- when the user lately stopped being private
    constraint user_privacy_pkey primary key (user_id),
    constraint user_privacy_visibility_check check (visibility in ('public', 'pseudonym', 'friends', 'private')),
    constraint user_privacy_key_check check (octet_length(pseudonym_key) = 32)
);
create index user_privacy_changed on user_privacy (changed_at, user_id);

-- A row is a time in which a user was private, which boards of the past need. A user without
-- an end is private now. Reads of the past read all rows of all users, so a user has at most
-- 64 rows, which writers keep: a public phase of less than a minute is merged with the private
-- ones around it, and so are the oldest phases beyond the bound. Reads find the rows that begin
-- or end between a checkpoint and a moment, and those that were merged since the checkpoint was
-- made: it can show the user.
create table private_users (
    user_id   text collate "C" not null,
    since     timestamptz not null,
    until     timestamptz,
    merged_at timestamptz,
    constraint private_users_pkey primary key (user_id, since),
    constraint private_users_user_id_fkey foreign key (user_id) references users on delete cascade,
    constraint private_users_until_check check (since <= until)
);
create unique index private_users_now on private_users (user_id) where until is null;
create index private_users_since on private_users (since);
create index private_users_until on private_users (until) where until is not null;
create index private_users_merged on private_users (merged_at) where merged_at is not null;

-- A row is a user who is named elsewhere by an id that is no user id here, such as
-- auth0|5f7c. The user's id is derived from it; operators need it to recognise the user.
create table external_ids (
    user_id     text collate "C" not null,
    external_id text not null,
    created_at  timestamptz not null default now(),
    constraint external_ids_pkey primary key (user_id),
    constraint external_ids_external_id_check check (octet_length(external_id) between 1 and 255)
);

-- A row says that a user has asked for, or accepted, a friendship; two users are friends if
-- there is a row in each direction. So two requests at a time need no common row, and an
-- answer needs no other state than its own.
create table friends (
    user_id        text collate "C" not null,
    friend_user_id text collate "C" not null,
    created_at     timestamptz not null default clock_timestamp(),
    constraint friends_pkey primary key (user_id, friend_user_id),
    constraint friends_not_self_check check (user_id <> friend_user_id)
);
create index friends_received on friends (friend_user_id, user_id);
