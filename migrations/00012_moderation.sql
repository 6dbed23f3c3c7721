-- Why: wrong scores can be corrected without a gap in the ledger. A reversal is an
-- event of its own; this table has the events that are currently reversed, so that
-- nothing is reversed twice and a repeat of the original can report it.
--
-- A void reverses everything that a key or an address sent in a period. It is a
-- job that survives its process, hence the list of its events.

-- +goose Up
create table reversals (
    user_id     text collate "C" not null,
    event_id    uuid not null,   -- the reversed event
    reversal_id uuid not null,   -- the reversing event
    void_id     bigint,          -- null: not part of a void
    constraint reversals_pkey primary key (user_id, event_id)
);

-- empty: every submission of the user on a best or latest board is reversed. The
-- row keeps the versions and is hidden as if it did not exist.
alter table scores add column empty boolean not null default false;

create table voids (
    id          bigint generated always as identity,
    key_id      text,
    address     text,
    starts      timestamptz not null,
    ends        timestamptz not null,
    reason      text not null,
    who         text not null,
    created_at  timestamptz not null default clock_timestamp(),
    state       text not null default 'listing',
    done_at     timestamptz,     -- when all was reversed; the undo window starts here
    lease_until timestamptz not null default '-infinity',
    constraint voids_pkey primary key (id),
    constraint voids_sender_check check ((key_id is null) <> (address is null)),
    constraint voids_span_check check (starts < ends),
    constraint voids_state_check check (state in ('listing', 'reversing', 'done', 'undoing', 'undone'))
);
create table void_events (
    void_id  bigint not null,
    user_id  text collate "C" not null,
    event_id uuid not null,
    state    text not null default 'todo',
    note     text,               -- reason for a skip
    constraint void_events_pkey primary key (void_id, user_id, event_id),
    constraint void_events_void_id_fkey foreign key (void_id) references voids on delete cascade,
    constraint void_events_state_check check (state in ('todo', 'reversed', 'skipped', 'undone'))
);
create index void_events_state on void_events (void_id, state, user_id, event_id);

-- Rows are stored in time order, so an hour takes a few pages of the index.
create index user_score_histories_recorded on user_score_histories using brin (recorded_at);

-- +goose Down
drop index user_score_histories_recorded;
drop table void_events;
drop table voids;
alter table scores drop column empty;
drop table reversals;
