-- Why: a submission may have metadata, such as the character that was played. The ledger keeps that
-- of each event on the boards that keep any, and a score has that of the submission that made it.
-- Nothing is looked up by it, so it has no index. Increments of other boards write what they wrote:
-- add_increments refuses the boards that keep metadata, as it does those with attempts.
--
-- A score's metadata is valid while metadata_version is its version. Who records a score without
-- knowing metadata counts the version up and leaves the rest: the metadata is no longer shown, and
-- never that of another submission. So do daemons of the version before, which also reject
-- increments with metadata, and add_increments on a board that keeps none any more.

-- +goose Up
alter table boards
    add column metadata text, -- null: none
    add constraint boards_metadata_check check (metadata in ('self', 'public'));
alter table scores add column metadata text, add column metadata_version bigint;
alter table user_score_histories add column metadata text;

-- +goose StatementBegin
do $$
declare
    known text := 'b.attempts = 0';
    body  text := pg_get_functiondef('add_increments'::regproc);
begin
    if length(body) - length(replace(body, known, '')) <> 2 * length(known) then
        raise exception 'add_increments is not the function that this migration changes';
    end if;
    execute replace(body, known, known || ' and b.metadata is null');
end
$$;
-- +goose StatementEnd

-- An erasure removes the metadata of the events, whichever version runs it. That of the scores is
-- removed when it begins (store/users).
-- +goose StatementBegin
do $$
declare
    known text := 'country = null';
    body  text := pg_get_functiondef('erase_ledger_rows'::regproc);
begin
    if length(body) - length(replace(body, known, '')) <> length(known) then
        raise exception 'erase_ledger_rows is not the function that this migration changes';
    end if;
    execute replace(body, known, known || ', metadata = null');
end
$$;
-- +goose StatementEnd

-- +goose Down
-- +goose StatementBegin
do $$
begin
    execute replace(pg_get_functiondef('add_increments'::regproc), ' and b.metadata is null', '');
    execute replace(pg_get_functiondef('erase_ledger_rows'::regproc), ', metadata = null', '');
end
$$;
-- +goose StatementEnd
alter table user_score_histories drop column metadata;
alter table scores drop column metadata, drop column metadata_version;
alter table boards drop column metadata;
