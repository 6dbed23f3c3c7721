-- Why: a user's recent activity decides whether an action is allowed and whether
-- an event is an anomaly. The action index contains only rows with an action.
-- Anomalies wait in flags for review, one open flag for each user and rule, so
-- that no user can flood the reviewers.

-- +goose Up
alter table user_score_histories add column country text;
create index user_score_histories_action on user_score_histories (user_id, action, recorded_at) where action is not null;

create table flags (
    id         bigint generated always as identity,
    rule       text not null,
    mode       text not null,
    user_id    text collate "C" not null,
    board_id   text collate "C" not null,
    event_id   uuid not null,
    event_text text not null,
    delta      bigint not null,
    detail     text not null,
    state      text not null default 'open',
    times      bigint not null default 1,
    created_at timestamptz not null default clock_timestamp(),
    last_at    timestamptz not null default clock_timestamp(),
    decided_by text,
    decided_at timestamptz,
    reason     text,
    constraint flags_pkey primary key (id),
    constraint flags_state_check check (state in ('open', 'dismissed', 'confirmed'))
);
create unique index flags_open on flags (user_id, rule) where state = 'open';
create index flags_state on flags (state, id);

-- +goose Down
drop table flags;
drop index user_score_histories_action;
alter table user_score_histories drop column country;
