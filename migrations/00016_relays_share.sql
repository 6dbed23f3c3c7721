-- Why: several relays share the shards. Each registers here as alive, all see the
-- same list, and each takes its part of the shards; the lease rows decide.
-- Unlogged: the list is rewritten several times a second and is outdated after a
-- crash anyway.

-- +goose Up
create unlogged table relay_members (
    owner       text not null,
    joined_at   timestamptz not null default clock_timestamp(),
    alive_until timestamptz not null,
    constraint relay_members_pkey primary key (owner)
) with (fillfactor = 30);

-- +goose Down
drop table relay_members;
