-- Why: an event accepted with 202 has an outcome that can be read later, even if
-- it was rejected. Recorded events are in the ledger; these are the rejected ones.

-- +goose Up
create table rejected_events (
    user_id      text collate "C" not null,
    event_id     uuid not null,
    payload_hash bytea not null,
    error_code   text not null,
    message      text not null,
    rejected_at  timestamptz not null default clock_timestamp(),
    constraint rejected_events_pkey primary key (user_id, event_id)
);

-- +goose Down
drop table rejected_events;
