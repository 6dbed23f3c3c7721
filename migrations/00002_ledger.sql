-- Why: every event on every board, once, with the score before and after it: the
-- audit trail, the basis for recognizing repeats, and what verify adds up. It
-- grows without bound, so it is partitioned by recorded_at; old partitions are
-- detached and archived.
--
-- A unique key over all partitions would have to contain recorded_at. Instead
-- each leaf has its own unique index, and the lock on the user's row covers the
-- boundary between two. No foreign keys: they would lock and probe rows that the
-- write path has already locked and probed.

-- +goose Up
create table user_score_histories (
    user_id          text collate "C" not null,
    board_id         text collate "C" not null,
    event_id         uuid not null,
    event_text       text,             -- as sent, if different from event_id
    payload_hash     bytea not null,   -- a repeat must have the same
    delta            bigint not null,  -- as submitted
    applied          bigint not null,  -- new_score − previous_score
    previous_score   bigint,           -- null: no previous score (best and latest boards)
    new_score        bigint not null,
    version          bigint not null,
    recorded_at      timestamptz not null,
    client_timestamp timestamptz,
    source           text not null,
    action           text,
    key_id           text,
    signer           text,
    address          text,
    user_agent       text,
    constraint user_score_histories_version_check check (version >= 1),
    constraint user_score_histories_source_check check (source in ('api', 'batch', 'async', 'admin'))
) partition by range (recorded_at);
-- For statements. Its collation is that of "C" under another name, so that the
-- planner cannot use this index to look up an event: while a table is small both
-- indexes cost the same, the plan is kept, and later reads an active user's whole
-- history for each event.
create index user_score_histories_user on user_score_histories (user_id collate "POSIX", recorded_at);

-- Repeats are recognized in the current and the previous partition, so the span
-- of a partition is also the minimum deduplication window: below a day, a client
-- that retries after a night would count twice.
-- +goose StatementBegin
create function create_ledger_partition(starts timestamptz, ends timestamptz) returns boolean
language plpgsql as $$
declare
    leaf text := 'user_score_histories_' || to_char(starts at time zone 'UTC', 'YYYYMMDD');
begin
    if ends - starts < interval '24 hours' then
        raise exception 'a partition of the ledger spans 24 hours at least, not %', ends - starts
            using errcode = 'invalid_parameter_value';
    end if;
    if to_regclass(leaf) is not null then
        return false;
    end if;
    execute format('create table %I (like user_score_histories including defaults including constraints)', leaf);
    execute format('create unique index %I on %I (user_id, event_id, board_id)', leaf || '_event', leaf);
    execute format('alter table user_score_histories attach partition %I for values from (%L) to (%L)',
                   leaf, starts, ends);
    return true;
end
$$;
-- +goose StatementEnd

-- +goose StatementBegin
do $$
declare
    month timestamptz := date_trunc('month', clock_timestamp() at time zone 'UTC') at time zone 'UTC';
begin
    for i in -1..2 loop
        perform create_ledger_partition(
            (month at time zone 'UTC' + make_interval(months => i)) at time zone 'UTC',
            (month at time zone 'UTC' + make_interval(months => i + 1)) at time zone 'UTC');
    end loop;
end
$$;
-- +goose StatementEnd

-- +goose Down
drop table user_score_histories;
drop function create_ledger_partition;
