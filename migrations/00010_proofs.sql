-- Why: a board may ask for more than a signature: that the increment ends an
-- action which was started here (an action token, once), or that a game server
-- vouches for it (an attestation). What an action token may be used for at most
-- is the board's, not the caller's.
--
-- A token is used in the transaction that records its event: a crash leaves
-- both or neither, so no token is burnt without a receipt. It belongs to one
-- user, whose row is locked then; the key is the net beneath.

-- +goose Up
alter table boards
    add column require_action_token boolean not null default false,
    add column require_attestation boolean not null default false,
    add column action_least_ms bigint not null default 0,
    add column action_life_ms bigint not null default 0, -- an hour
    add constraint boards_action_check check (action_least_ms >= 0 and action_life_ms between 0 and 604800000);

create table used_action_tokens (
    action_id uuid not null,
    event_id  uuid not null, -- the one event that it was used for
    used_at   timestamptz not null default clock_timestamp(),
    constraint used_action_tokens_pkey primary key (action_id)
);
create index used_action_tokens_age on used_action_tokens (used_at);

-- +goose Down
drop table used_action_tokens;
alter table boards drop constraint boards_action_check, drop column require_action_token, drop column require_attestation,
    drop column action_least_ms, drop column action_life_ms;
