-- Why: users decide whether others see who they are on boards. Rankings, the ledger and the
-- outbox keep user ids; each node replaces the ids of hidden users in what it shows. Nodes
-- hold all hidden users and poll for changes, hence the index; a user who is public again
-- stays as a row, so that nodes notice the change and the pseudonyms stay the same.

-- +goose Up
create table user_privacy (
    user_id       text collate "C" not null,
    visibility    text not null,
    pseudonym_key bytea not null,
    changed_at    timestamptz not null default clock_timestamp(),
    constraint user_privacy_pkey primary key (user_id),
    constraint user_privacy_visibility_check check (visibility in ('public', 'pseudonym', 'friends')),
    constraint user_privacy_key_check check (octet_length(pseudonym_key) = 32)
);
create index user_privacy_changed on user_privacy (changed_at, user_id);

-- +goose Down
drop table user_privacy;
