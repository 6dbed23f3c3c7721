-- Why: a board can require more than a signature: that the increment ends an
-- action that was started here (an action token, valid once), or that a game
-- server confirms it (an attestation). The board, not the caller, sets the limits
-- of an action token.
--
-- A token is used in the transaction that records its event: a crash leaves both
-- or neither, so no token is used up without a receipt. A token belongs to one
-- user, whose row is locked; the primary key is a second safeguard.

-- +goose Up
alter table boards
    add column require_action_token boolean not null default false,
    add column require_attestation boolean not null default false,
    add column action_least_ms bigint not null default 0,
    add column action_life_ms bigint not null default 0, -- 0: one hour
    add constraint boards_action_check check (action_least_ms >= 0 and action_life_ms between 0 and 604800000);

create table used_action_tokens (
    action_id uuid not null,
    event_id  uuid not null, -- the event that used it
    used_at   timestamptz not null default clock_timestamp(),
    constraint used_action_tokens_pkey primary key (action_id)
);
create index used_action_tokens_age on used_action_tokens (used_at);

-- +goose Down
drop table used_action_tokens;
alter table boards drop constraint boards_action_check, drop column require_action_token, drop column require_attestation,
    drop column action_least_ms, drop column action_life_ms;
