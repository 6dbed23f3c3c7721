-- Why: a periodic board has one row for its rules (the family, which requests
-- name) and one for each period (the instances, which hold the scores). A write
-- chooses among the instances that have not ended, hence the index.
--
-- An instance has all rules of its family: it copies every column of the row,
-- including those that later migrations add, except the instance's own.

-- +goose Up
drop index boards_family;
create index boards_family on boards (family_id, period_end);

alter table boards
    add constraint boards_board_id_check check (board_id ~ '^[a-z0-9][a-z0-9_.-]{0,47}(:[a-z0-9][a-z0-9_.-]{0,47})?$'),
    add constraint boards_family_id_check check (family_id = split_part(board_id, ':', 1)),
    add constraint boards_instance_check check ((board_id = family_id) = (period_start is null)
        and (period_start is null) = (period_end is null) and (period_start is null or period <> 'none'));

-- Returns false if the instance already exists.
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
