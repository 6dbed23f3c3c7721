-- Why: a user can be erased while every sum stays correct. The ledger's rows move
-- to an anonymous user in steps; an empty tombstone keeps the name for a time, so
-- that late events cannot restore it.

-- +goose Up
alter table users add column erased_as text, add column erased_at timestamptz,
    drop constraint users_status_check,
    add constraint users_status_check check (status in ('active', 'frozen', 'banned', 'erased'));
create index users_erased on users (erased_at) where erased_as is not null;

-- A tombstone has no ledger rows, and therefore version 0.
alter table scores drop constraint scores_version_check,
    add constraint scores_version_check check (revision >= 1 and (version >= 1 or version = 0 and hidden));

-- Progress of deleting old addresses from the ledger.
create table retention (
    name text not null,
    done timestamptz not null,
    constraint retention_pkey primary key (name)
);

-- +goose Down
drop table retention;
alter table scores drop constraint scores_version_check,
    add constraint scores_version_check check (version >= 1 and revision >= 1);
drop index users_erased;
alter table users drop constraint users_status_check,
    add constraint users_status_check check (status in ('active', 'frozen', 'banned')),
    drop column erased_as, drop column erased_at;
