-- Why: an event may be accepted again after it was rejected, and then it is pending.
-- The time of acceptance says which attempt a rejection belongs to. It is null in rows
-- of an earlier build, which were accepted before they were rejected. Rejections are
-- deleted by age and number, by the index.

-- +goose Up
alter table rejected_events add column accepted_at timestamptz;
create index rejected_events_age on rejected_events (rejected_at);

-- +goose Down
drop index rejected_events_age;
alter table rejected_events drop column accepted_at;
