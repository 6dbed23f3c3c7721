-- Why: several relays share the shards. Who is alive says so here, all see the
-- same list, and each takes its part of it; the lease rows stay what decides.
-- Unlogged: the list is written anew several times a second, and after a crash
-- nobody in it is alive.

-- +goose Up
create unlogged table relay_members (
    owner       text not null,
    joined_at   timestamptz not null default clock_timestamp(),
    alive_until timestamptz not null,
    constraint relay_members_pkey primary key (owner)
) with (fillfactor = 30);

-- +goose Down
drop table relay_members;
