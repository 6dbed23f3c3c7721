-- Why: clients choose their event ids, so whoever guessed the id of a reversal could
-- take it and make an event irreversible. An event's identity therefore contains
-- whether the event is internal (source admin): a client's id and the same id of a
-- correction are two events. Leaves of the ledger that exist get their index in the
-- next migration, which does not block writers.
--
-- A void stores what went wrong and when it is tried again, as a whole and for each
-- event, so that no failure delays other events or other voids.
--
-- Rows of earlier builds need no change: their corrections have the source admin. An
-- earlier build that still runs does not set reversals.internal; the trigger does.

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
    execute format('create unique index %I on %I (user_id, event_id, board_id, (source = ''admin''))',
                   leaf || '_event', leaf);
    execute format('alter table user_score_histories attach partition %I for values from (%L) to (%L)',
                   leaf, starts, ends);
    return true;
end
$$;
-- +goose StatementEnd

alter table reversals add column internal boolean; -- the space of the reversed event
update reversals as r set internal = exists (
    select from user_score_histories as h
    where h.user_id = r.user_id and h.event_id = r.event_id and h.source = 'admin');
alter table reversals alter column internal set not null,
    drop constraint reversals_pkey,
    add constraint reversals_pkey primary key (user_id, event_id, internal);

-- Can be dropped with the next release, when no build is left that does not set the column.
-- +goose StatementBegin
create function set_reversal_space() returns trigger
language plpgsql as $$
begin
    if new.internal is null then
        new.internal := not exists (select from user_score_histories as h
            where h.user_id = new.user_id and h.event_id = new.event_id and h.source <> 'admin');
    end if;
    return new;
end
$$;
-- +goose StatementEnd
create trigger reversals_space before insert on reversals for each row execute function set_reversal_space();

alter table voids
    add column attempts int not null default 0,  -- failed in a row
    add column problem text,                     -- why the last one failed; null: it did not
    add column next_at timestamptz not null default '-infinity'; -- of the next attempt
alter table void_events
    add column attempts int not null default 0,
    add column next_at timestamptz not null default '-infinity';
create index void_events_noted on void_events (void_id, user_id) where note is not null;

-- +goose Down
drop index void_events_noted;
alter table void_events drop column next_at, drop column attempts;
alter table voids drop column next_at, drop column problem, drop column attempts;
drop trigger reversals_space on reversals;
drop function set_reversal_space;
alter table reversals drop constraint reversals_pkey, drop column internal,
    add constraint reversals_pkey primary key (user_id, event_id);
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
