-- Why: an event that the pipeline cannot process must not be lost and must not
-- block the rest. It waits here, with the reason and its original bytes, until an
-- operator requeues or drops it. The backlog of the outbox must be visible, too:
-- its size, its age and the attempts.

-- +goose Up
create table dead_letters (
    id            bigint generated always as identity,
    topic         text not null,     -- origin; 'outbox' if the transport rejected it
    partition     integer not null,  -- or the shard of the outbox
    record_offset bigint not null,   -- or the row id of the outbox
    value         bytea not null,    -- original bytes
    reason        text not null,
    attempts      integer not null,
    buried_at     timestamptz not null default clock_timestamp(),
    constraint dead_letters_pkey primary key (id),
    -- The same record, stored again, is the same letter.
    constraint dead_letters_origin_key unique (topic, partition, record_offset)
);

-- attempts and last_error belong to the row after the cursor.
alter table relay_shards add column attempts integer not null default 0, add column last_error text;

-- Depth is counted up to a million, more than any healthy backlog.
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
