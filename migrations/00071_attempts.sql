-- Why: a board can limit how many events of a user it records in a period. Every row of the
-- ledger counts versions up, so the events in force are the version without the rows that are
-- none: scores.uncounted counts rows of corrections and imports, and reversed events of
-- clients. Increments do not touch it. Daemons of the version before know no limit, and do not
-- count uncounted up: an event that they reverse is not given back.

-- +goose Up
alter table boards
    add column attempts bigint not null default 0,
    add constraint boards_attempts_check check (attempts between 0 and 1000000);
alter table scores add column uncounted bigint not null default 0;

-- Boards with attempts need a decision. The rest is that of migration 49.
-- +goose StatementBegin
do $$
declare
    known text := 'not b.require_attestation';
    body  text := pg_get_functiondef('add_increments'::regproc);
begin
    if length(body) - length(replace(body, known, '')) <> 2 * length(known) then
        raise exception 'add_increments is not the function that this migration changes';
    end if;
    execute replace(body, known, known || ' and b.attempts = 0');
end
$$;
-- +goose StatementEnd

-- +goose Down
-- +goose StatementBegin
do $$
begin
    execute replace(pg_get_functiondef('add_increments'::regproc), ' and b.attempts = 0', '');
end
$$;
-- +goose StatementEnd
alter table scores drop column uncounted;
alter table boards drop column attempts;
