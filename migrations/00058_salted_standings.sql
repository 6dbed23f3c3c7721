-- Why: all but the user in a row of final standings is public, so whoever had the hash over
-- the rows could try ids until it matched, and so name a hidden or erased user. Now the hash
-- covers a leaf for each row, the hash of the row with a salt. Erasure deletes the salt and
-- keeps the leaf: the hash over the leaves can still be checked. Standings that were sealed
-- before keep their hash (format 1), without salts and leaves.
--
-- The hash of format 1 over standings with an erased user can only serve to name that user:
-- it is deleted here, and by later erasures.
--
-- Event ids of imports are derived from the user, so an erased user could be found by them.
-- Erasure replaces them by random ones, here for users who are erased already. An import's
-- event is one row, on one board, and nothing refers to it: it cannot be reversed or voided.
--
-- A trigger deletes the salt and the hash of format 1, so that erasures by daemons of the
-- version before do, too. Those daemons copy rows without salts, which are copied again before
-- standings are sealed, and seal in format 1.

-- +goose Up
alter table board_standings
    add column salt bytea, -- null: of an erased user, or sealed in format 1
    add column leaf bytea; -- null: sealed in format 1
alter table boards add column standings_version smallint; -- null: format 1, if there is a hash

-- unlink_standing deletes what could name the user that a row had before.
-- +goose StatementBegin
create function unlink_standing() returns trigger
language plpgsql as $$
begin
    new.salt := null;
    update boards set standings_hash = ''
    where board_id = new.board_id and standings_hash is not null and standings_version is null;
    return new;
end
$$;
-- +goose StatementEnd
create trigger unlink_standing before update of user_id on board_standings
    for each row execute function unlink_standing();

update boards as b set standings_hash = '' where standings_hash is not null
    and exists (select from users as u join board_standings as s using (user_id)
        where s.board_id = b.board_id and u.status = 'erased');

-- +goose StatementBegin
create or replace function erase_ledger_rows(erased text, anonymous text, board text, most integer,
    out event uuid, out score bigint, out version bigint, out recorded timestamptz, out moved bigint)
returns setof record
language plpgsql as $$
begin
    perform check_erased(erased, anonymous);
    return query
    with piece as (
        select h.event_id, h.recorded_at, h.version from user_score_histories as h
        where h.user_id collate "POSIX" = erased and h.board_id = board order by h.version limit most
    ), rows as (
        update user_score_histories as h set user_id = anonymous, event_text = null,
            event_id = case when h.source = 'admin' and h.action = 'import' then gen_random_uuid() else h.event_id end,
            payload_hash = '\x00000000000000000000000000000000',
            client_timestamp = null, signer = null, address = null, user_agent = null, country = null
        from piece where h.user_id = erased and h.event_id = piece.event_id and h.board_id = board
            and h.recorded_at = piece.recorded_at and h.version = piece.version
        returning h.event_id, h.new_score, h.version, h.recorded_at, h.source = 'admin' as internal
    ), turned as (
        update reversals as r set user_id = anonymous from rows
        where r.user_id = erased and r.event_id = rows.event_id and r.internal = rows.internal
    )
    select rows.event_id, rows.new_score, rows.version, rows.recorded_at, (select count(*) from rows)
    from rows order by rows.version desc limit 1;
end
$$;
-- +goose StatementEnd
select run_as_owner('erase_ledger_rows(text, text, text, integer)'::regprocedure);

update user_score_histories as h set event_id = gen_random_uuid() from users as u
where u.status = 'erased' and h.user_id collate "POSIX" = u.user_id and h.source = 'admin' and h.action = 'import';

-- +goose Down
-- +goose StatementBegin
create or replace function erase_ledger_rows(erased text, anonymous text, board text, most integer,
    out event uuid, out score bigint, out version bigint, out recorded timestamptz, out moved bigint)
returns setof record
language plpgsql as $$
begin
    perform check_erased(erased, anonymous);
    return query
    with piece as (
        select h.event_id, h.recorded_at, h.version from user_score_histories as h
        where h.user_id collate "POSIX" = erased and h.board_id = board order by h.version limit most
    ), rows as (
        update user_score_histories as h set user_id = anonymous, event_text = null,
            payload_hash = '\x00000000000000000000000000000000',
            client_timestamp = null, signer = null, address = null, user_agent = null, country = null
        from piece where h.user_id = erased and h.event_id = piece.event_id and h.board_id = board
            and h.recorded_at = piece.recorded_at and h.version = piece.version
        returning h.event_id, h.new_score, h.version, h.recorded_at, h.source = 'admin' as internal
    ), turned as (
        update reversals as r set user_id = anonymous from rows
        where r.user_id = erased and r.event_id = rows.event_id and r.internal = rows.internal
    )
    select rows.event_id, rows.new_score, rows.version, rows.recorded_at, (select count(*) from rows)
    from rows order by rows.version desc limit 1;
end
$$;
-- +goose StatementEnd
select run_as_owner('erase_ledger_rows(text, text, text, integer)'::regprocedure);
drop trigger unlink_standing on board_standings;
drop function unlink_standing;
alter table boards drop column standings_version;
alter table board_standings drop column salt, drop column leaf;
