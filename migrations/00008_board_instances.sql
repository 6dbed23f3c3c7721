-- Why: a board with a period has a row for its rules (the family, written and
-- read by its name) and one for each of its periods, which hold the scores. A
-- write picks among those of a family that have not ended, hence the index.
--
-- An instance has all rules of its family, also those that later migrations
-- add: it is a copy of the row but for what is its own, be it a column that the
-- next migration adds.

-- +goose Up
drop index boards_family;
create index boards_family on boards (family_id, period_end);

alter table boards
    add constraint boards_board_id_check check (board_id ~ '^[a-z0-9][a-z0-9_.-]{0,47}(:[a-z0-9][a-z0-9_.-]{0,47})?$'),
    add constraint boards_family_id_check check (family_id = split_part(board_id, ':', 1)),
    add constraint boards_instance_check check ((board_id = family_id) = (period_start is null)
        and (period_start is null) = (period_end is null) and (period_start is null or period <> 'none'));

-- Returns false where the instance is there already.
-- +goose StatementBegin
create function create_board_instance(family text, instance text, starts timestamptz, ends timestamptz) returns boolean
language sql as $$
    with made as (
        insert into boards
        select (jsonb_populate_record(b, jsonb_build_object(
            'board_id', instance, 'status', 'active', 'period_start', starts, 'period_end', ends,
            'created_at', clock_timestamp(), 'closed_at', null, 'standings_hash', null, 'standings_users', null, 'announced_at', null))).*
        from boards as b where board_id = family
        on conflict (board_id) do nothing
        returning true)
    select exists (select from made)
$$;
-- +goose StatementEnd

-- +goose Down
drop function create_board_instance;
alter table boards drop constraint boards_board_id_check, drop constraint boards_family_id_check, drop constraint boards_instance_check;
drop index boards_family;
create index boards_family on boards (family_id, period_start);
