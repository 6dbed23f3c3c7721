-- Why: what the pipeline could not carry must not be lost and must not hold up
-- the rest. It waits here, with the reason and its original bytes, until
-- somebody has it carried again or drops it. And the outbox must be visible:
-- how much waits, for how long, and how often it was tried.

-- +goose Up
create table dead_letters (
    id            bigint generated always as identity,
    topic         text not null,     -- where it came from; 'outbox' where the transport refused it
    partition     integer not null,  -- or the shard of the outbox
    record_offset bigint not null,   -- or the row id of the outbox
    value         bytea not null,    -- as it was
    reason        text not null,
    attempts      integer not null,
    buried_at     timestamptz not null default clock_timestamp(),
    constraint dead_letters_pkey primary key (id),
    -- A record that is handed over again is the same letter.
    constraint dead_letters_origin_key unique (topic, partition, record_offset)
);

-- attempts and last_error are of the row behind the cursor.
alter table relay_shards add column attempts integer not null default 0, add column last_error text;

-- Depth is counted up to a million: beyond it the number says "far too many".
create view outbox_status as
select r.shard, r.owner, r.generation, r.lease_until, r.cursor_xid, r.cursor_id, r.attempts, r.last_error,
    d.depth, o.recorded_at as oldest_at
from relay_shards r
cross join lateral (
    select count(*) as depth from (
        select from outbox_score_updates
        where shard = r.shard and (xid, id) > (r.cursor_xid, r.cursor_id) limit 1000000) as waiting) as d
left join lateral (
    select recorded_at from outbox_score_updates
    where shard = r.shard and (xid, id) > (r.cursor_xid, r.cursor_id) order by xid, id limit 1) as o on true;

-- +goose Down
drop view outbox_status;
alter table relay_shards drop column attempts, drop column last_error;
drop table dead_letters;
