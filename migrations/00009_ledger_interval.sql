-- Why: a repeat is recognised in the current and the previous partition of the
-- ledger, so a partition's span is also the least time for that. Below a day a
-- client that retries after a night would count twice.

-- +goose Up
-- +goose StatementBegin
create or replace function create_ledger_partition(starts timestamptz, ends timestamptz) returns boolean
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

-- +goose Down
-- +goose StatementBegin
create or replace function create_ledger_partition(starts timestamptz, ends timestamptz) returns boolean
language plpgsql as $$
declare
    leaf text := 'user_score_histories_' || to_char(starts at time zone 'UTC', 'YYYYMMDD');
begin
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
