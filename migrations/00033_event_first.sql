-- Why: a unique index that begins with the event compares sixteen bytes where one that
-- begins with the user compares a text in a collation: look-ups of known events and
-- insertions cost a third less. It holds the same for repeats. Existing leaves keep their
-- index unless they are empty: building one would block writers.

-- +goose Up
-- +goose StatementBegin
create or replace function create_ledger_partition(starts timestamptz, ends timestamptz) returns boolean
language plpgsql as $$
declare
    leaf text := 'user_score_histories_' || to_char(starts at time zone 'UTC', 'YYYYMMDD');
begin
    if (ends - starts between interval '24 hours' and interval '32 days') is not true then
        raise exception 'a partition of the ledger spans 24 hours to 32 days, not %', ends - starts
            using errcode = 'invalid_parameter_value';
    end if;
    if to_regclass(leaf) is not null then
        return false;
    end if;
    execute format('create table %I (like user_score_histories including defaults including constraints)', leaf);
    execute format('create unique index %I on %I (event_id, user_id, board_id, (source = ''admin''))',
                   leaf || '_event', leaf);
    execute format('alter table user_score_histories attach partition %I for values from (%L) to (%L)',
                   leaf, starts, ends);
    return true;
end
$$;
-- +goose StatementEnd
select run_as_owner('create_ledger_partition(timestamptz, timestamptz)');
-- +goose StatementBegin
do $$
declare
    leaf text;
    filled boolean;
begin
    perform set_config('lock_timeout', '100', true);
    for leaf in select c.relname from pg_inherits as i join pg_class as c on c.oid = i.inhrelid
        where i.inhparent = 'user_score_histories'::regclass and c.relname ~ '^user_score_histories_[0-9]{8}$'
        order by 1
    loop
        execute format('select exists (select from %I)', leaf) into filled;
        continue when filled;
        begin
            execute format('lock table %I in access exclusive mode', leaf);
        exception when lock_not_available then -- a writer is about to fill it
            continue;
        end;
        execute format('select exists (select from %I)', leaf) into filled;
        continue when filled;
        execute format('drop index %I', leaf || '_event');
        execute format('create unique index %I on %I (event_id, user_id, board_id, (source = ''admin''))',
                       leaf || '_event', leaf);
    end loop;
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
    if (ends - starts between interval '24 hours' and interval '32 days') is not true then
        raise exception 'a partition of the ledger spans 24 hours to 32 days, not %', ends - starts
            using errcode = 'invalid_parameter_value';
    end if;
    if to_regclass(leaf) is not null then
        return false;
    end if;
    execute format('create table %I (like user_score_histories including defaults including constraints)', leaf);
    execute format('create unique index %I on %I (user_id, event_id, board_id, (source = ''admin''))',
                   leaf || '_event', leaf);
    execute format('alter table user_score_histories attach partition %I for values from (%L) to (%L)',
                   leaf, starts, ends);
    return true;
end
$$;
-- +goose StatementEnd
select run_as_owner('create_ledger_partition(timestamptz, timestamptz)');
