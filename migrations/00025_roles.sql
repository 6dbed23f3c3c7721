-- Why: the daemon's role could rewrite the audit trail and the ledger. From now on
-- the role that migrates owns everything, and the daemon may use another one that can
-- only add rows to the two. What the daemon must change in them nevertheless, and
-- partitions, are functions that run as the owner and check their arguments.
--
-- A daemon that connects as the owner, such as one of the version before, works as it did.

-- +goose Up
-- The bounds keep the runtime role from creating partitions of any length.
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

-- +goose StatementBegin
create or replace function create_outbox_partition(starts timestamptz, ends timestamptz) returns boolean
language plpgsql as $$
declare
    leaf text := 'outbox_score_updates_' || to_char(starts at time zone 'UTC', 'YYYYMMDDHH24MI');
begin
    if (ends - starts between interval '1 minute' and interval '1 day') is not true then
        raise exception 'a partition of the outbox spans a minute to a day, not %', ends - starts
            using errcode = 'invalid_parameter_value';
    end if;
    if to_regclass(leaf) is not null then
        return false;
    end if;
    execute format('create table %I (like outbox_score_updates including defaults) with (autovacuum_enabled = false)', leaf);
    execute format('alter table outbox_score_updates attach partition %I for values from (%L) to (%L)',
                   leaf, starts, ends);
    return true;
end
$$;
-- +goose StatementEnd

-- +goose StatementBegin
create or replace function drop_outbox_partition(leaf text) returns boolean
language plpgsql as $$
begin
    if not exists (select from pg_inherits as i join pg_class as c on c.oid = i.inhrelid
            where i.inhparent = 'outbox_score_updates'::regclass and c.relname = leaf) then
        raise exception '% is not a partition of the outbox', leaf using errcode = 'invalid_parameter_value';
    end if;
    if outbox_partition_waits(quote_ident(leaf)) then
        return false; -- without blocking writers
    end if;
    lock table only outbox_score_updates in access exclusive mode;
    execute format('lock table %I in access exclusive mode', leaf);
    if outbox_partition_waits(quote_ident(leaf)) then
        return false;
    end if;
    if leaf = 'outbox_score_updates_default' then
        truncate outbox_score_updates_default;
    else
        execute format('drop table %I', leaf);
    end if;
    return true;
end
$$;
-- +goose StatementEnd

-- The ledger's partitions that may be archived, whatever the retention: never one in which
-- repeats are recognized by the shortest window. A daemon with a longer one keeps more.
create view archivable_partitions as
select name, starts at time zone 'UTC' as starts, ends at time zone 'UTC' as ends, attached
from (
    select c.relname::text as name, to_date(right(c.relname, 8), 'YYYYMMDD')::timestamp as starts,
        to_date(right(c.relname, 8), 'YYYYMMDD')::timestamp + interval '1 month' as ends,
        exists (select from pg_inherits i where i.inhrelid = c.oid and i.inhparent = parent.oid) as attached
    from pg_class parent join pg_class c on c.relnamespace = parent.relnamespace
    where parent.oid = 'user_score_histories'::regclass and c.relkind = 'r'
        and c.relname ~ '^user_score_histories_[0-9]{8}$'
) as p
where ends <= date_trunc('month', clock_timestamp() at time zone 'UTC') - interval '1 month';

-- +goose StatementBegin
create function check_archivable(leaf text) returns void
language plpgsql as $$
begin
    if not exists (select from archivable_partitions where name = leaf) then
        raise exception '% is not a partition of the ledger that can be archived', leaf
            using errcode = 'invalid_parameter_value';
    end if;
end
$$;
-- +goose StatementEnd

-- open_ledger_partition opens a cursor over a partition's rows as JSON. Only opening
-- needs the owner's privileges; the caller fetches.
-- +goose StatementBegin
create function open_ledger_partition(cur refcursor, leaf text) returns refcursor
language plpgsql as $$
begin
    perform check_archivable(leaf);
    open cur no scroll for execute format('select row_to_json(h)::text from %I as h', leaf);
    return cur;
end
$$;
-- +goose StatementEnd

-- detach_ledger_partition detaches a partition if it has exactly that many rows, and
-- returns how many it has. It leaves an entry in the audit trail, so that not even the
-- runtime role can remove rows without a trace. The caller sets lock_timeout.
-- +goose StatementBegin
create function detach_ledger_partition(leaf text, archived bigint) returns bigint
language plpgsql as $$
declare
    there bigint;
begin
    perform check_archivable(leaf);
    -- Blocks rows that arrive late. Users of other partitions do not wait while these
    -- rows are counted.
    execute format('lock table %I in share row exclusive mode', leaf);
    execute format('select count(*) from %I', leaf) into there;
    if there = archived then
        execute format('alter table user_score_histories detach partition %I', leaf);
        insert into audit_log (who, address, user_agent, request_id, action, target, reason, detail)
        values ('role:' || session_user, '', '', '', 'ledger.detach', 'ledger:' || leaf, 'archived',
            jsonb_build_object('rows', there));
    end if;
    return there;
end
$$;
-- +goose StatementEnd

-- drop_ledger_partition drops a detached partition; false if it is still attached.
-- +goose StatementBegin
create function drop_ledger_partition(leaf text) returns boolean
language plpgsql as $$
begin
    if to_regclass(quote_ident(leaf)) is null and leaf ~ '^user_score_histories_[0-9]{8}$' then
        return true; -- by an earlier attempt
    end if;
    perform check_archivable(leaf);
    if exists (select from pg_inherits where inhrelid = to_regclass(quote_ident(leaf))) then
        return false;
    end if;
    execute format('drop table %I', leaf);
    return true;
end
$$;
-- +goose StatementEnd

-- check_erased makes sure that anonymous is the name under which user is erased.
-- +goose StatementBegin
create function check_erased(erased text, anonymous text) returns void
language plpgsql as $$
begin
    if (anonymous like 'erased-%' and exists (select from users
            where user_id = erased and status = 'erased' and erased_as = anonymous)) is not true then
        raise exception 'the user is not erased under this name' using errcode = 'invalid_parameter_value';
    end if;
end
$$;
-- +goose StatementEnd

-- erase_audit_target replaces an erased user's name in the audit trail.
-- +goose StatementBegin
create function erase_audit_target(erased text, anonymous text) returns void
language plpgsql as $$
begin
    perform check_erased(erased, anonymous);
    update audit_log set target = 'user:' || anonymous where target = 'user:' || erased;
end
$$;
-- +goose StatementEnd

-- erase_ledger_rows moves the oldest rows of an erased user on a board to the anonymous
-- name, without personal data, and returns the last of them and how many there were; no
-- row if there were none.
-- +goose StatementBegin
create function erase_ledger_rows(erased text, anonymous text, board text, most integer,
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

-- forget_addresses deletes addresses, agents and countries from ledger rows older than
-- keep, at most an hour of rows per call, and returns whether there is more to do; null
-- if there was nothing. Without the bound on the time, searching for the oldest row would
-- read the whole ledger when no row is old enough.
-- +goose StatementBegin
create function forget_addresses(keep interval) returns boolean
language plpgsql as $$
declare
    more boolean;
begin
    if (keep > interval '0') is not true then
        raise exception 'addresses are kept for more than 0, not %', keep using errcode = 'invalid_parameter_value';
    end if;
    with span as (
        select coalesce((select done from retention where name = 'addresses'),
                (select min(recorded_at) from user_score_histories where recorded_at < now() - keep)) as starts,
            now() - keep as until
    ), piece as (
        select starts, least(starts + interval '1 hour', until) as ends, until from span where starts < until
    ), forgotten as (
        update user_score_histories as h set address = null, user_agent = null, country = null
        from piece where h.recorded_at >= piece.starts and h.recorded_at < piece.ends and (h.address is not null
            or h.user_agent is not null or h.country is not null)
    )
    insert into retention (name, done) select 'addresses', ends from piece
    on conflict (name) do update set done = excluded.done
    returning (select ends < until from piece) into more;
    return more;
end
$$;
-- +goose StatementEnd

-- oldest_transaction returns when the oldest writing transaction began that the owner
-- can see; roles see each other's transactions only as members or superusers.
create function oldest_transaction() returns timestamptz
language sql volatile as $$
    select min(since) from (
        select xact_start as since from pg_stat_activity where backend_xid is not null and pid <> pg_backend_pid()
        union all select prepared from pg_prepared_xacts) as t
$$;

-- run_as_owner has a function run as its owner, with names resolved in this schema only.
-- +goose StatementBegin
create function run_as_owner(f regprocedure) returns void
language plpgsql as $$
begin
    execute format('alter function %s security definer set search_path = %I, pg_temp', f, current_schema());
    execute format('revoke execute on function %s from public', f);
end
$$;
-- +goose StatementEnd
revoke execute on function run_as_owner(regprocedure) from public;
select run_as_owner(f) from unnest(array[
    'create_ledger_partition(timestamptz, timestamptz)', 'create_outbox_partition(timestamptz, timestamptz)',
    'drop_outbox_partition(text)', 'open_ledger_partition(refcursor, text)', 'detach_ledger_partition(text, bigint)',
    'drop_ledger_partition(text)', 'erase_audit_target(text, text)', 'erase_ledger_rows(text, text, text, integer)',
    'forget_addresses(interval)', 'oldest_transaction()']::regprocedure[]) as f;

-- grant_runtime gives a role what the daemon needs, and takes what it must not have. sbctl
-- migrate up calls it for the user of postgres.url, also when nothing is pending: tables of
-- later migrations need their grants.
-- +goose StatementBegin
create function grant_runtime(runtime name) returns void
language plpgsql as $$
declare
    it record;
begin
    if (select rolsuper from pg_roles where rolname = runtime) or pg_has_role(runtime, current_user, 'member') then
        raise exception 'role % has the privileges of the owner %', runtime, current_user
            using errcode = 'invalid_grant_operation', hint = 'the daemon needs a role of its own';
    end if;
    -- Whoever can create a function here might have the owner run it.
    begin
        if has_schema_privilege(runtime, current_schema(), 'create') then
            execute format('revoke create on schema %I from public, %I', current_schema(), runtime);
        end if;
        if not has_schema_privilege(runtime, current_schema(), 'usage') then
            execute format('grant usage on schema %I to %I', current_schema(), runtime);
        end if;
    exception when insufficient_privilege then
        raise warning 'the privileges on schema % were not changed: % does not own it', current_schema(), current_user;
    end;
    -- Rows of partitions are reached through their table only, also those of a detached one.
    for it in
        select c.oid::regclass as name, c.relname as plain, c.relkind as kind from pg_class as c
        where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p', 'v') and not c.relispartition
            and c.relname !~ '^user_score_histories_[0-9]{8}$' and pg_has_role(c.relowner, 'usage')
    loop
        if it.plain in ('user_score_histories', 'audit_log', 'goose_db_version', 'outbox_score_updates')
            or starts_with(it.plain, 'audit_') then
            execute format('revoke all on %s from %I', it.name, runtime);
            execute format('grant select on %s to %I', it.name, runtime);
        elsif it.kind = 'v' then
            execute format('grant select on %s to %I', it.name, runtime);
        else
            execute format('grant select, insert, update, delete on %s to %I', it.name, runtime);
        end if;
    end loop;
    execute format('grant insert on user_score_histories, outbox_score_updates to %I', runtime);
    -- Not its id and time.
    execute format('grant insert (who, address, user_agent, request_id, action, target, reason, detail)
        on audit_log to %I', runtime);
    -- For changes of a history that the database no longer has (package recovery).
    execute format('grant update (xid) on outbox_score_updates to %I', runtime);
    -- The age of rows without a partition.
    execute format('grant select on outbox_score_updates_default to %I', runtime);
    -- Sequences of identity columns need no privilege.
    for it in
        select c.oid::regclass as name from pg_class as c
        where c.relnamespace = current_schema()::regnamespace and c.relkind = 'S' and pg_has_role(c.relowner, 'usage')
            and not exists (select from pg_depend as d where d.objid = c.oid and d.deptype in ('i', 'e'))
    loop
        execute format('grant usage, select, update on sequence %s to %I', it.name, runtime);
    end loop;
    for it in
        select p.oid::regprocedure as name from pg_proc as p
        where p.pronamespace = current_schema()::regnamespace and p.prosecdef and pg_has_role(p.proowner, 'usage')
    loop
        execute format('grant execute on function %s to %I', it.name, runtime);
    end loop;
end
$$;
-- +goose StatementEnd
revoke execute on function grant_runtime(name) from public;

-- +goose Down
drop function grant_runtime;
drop function run_as_owner;
drop function oldest_transaction;
drop function forget_addresses;
drop function erase_ledger_rows;
drop function erase_audit_target;
drop function check_erased;
drop function drop_ledger_partition;
drop function detach_ledger_partition;
drop function open_ledger_partition;
drop function check_archivable;
drop view archivable_partitions;
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
-- +goose StatementBegin
create or replace function create_outbox_partition(starts timestamptz, ends timestamptz) returns boolean
language plpgsql as $$
declare
    leaf text := 'outbox_score_updates_' || to_char(starts at time zone 'UTC', 'YYYYMMDDHH24MI');
begin
    if to_regclass(leaf) is not null then
        return false;
    end if;
    execute format('create table %I (like outbox_score_updates including defaults) with (autovacuum_enabled = false)', leaf);
    execute format('alter table outbox_score_updates attach partition %I for values from (%L) to (%L)',
                   leaf, starts, ends);
    return true;
end
$$;
-- +goose StatementEnd
-- +goose StatementBegin
create or replace function drop_outbox_partition(leaf text) returns boolean
language plpgsql as $$
begin
    if outbox_partition_waits(leaf) then
        return false; -- without blocking writers
    end if;
    lock table only outbox_score_updates in access exclusive mode;
    execute format('lock table %I in access exclusive mode', leaf);
    if outbox_partition_waits(leaf) then
        return false;
    end if;
    if leaf = 'outbox_score_updates_default' then
        truncate outbox_score_updates_default;
    else
        execute format('drop table %I', leaf);
    end if;
    return true;
end
$$;
-- +goose StatementEnd
grant execute on function create_ledger_partition(timestamptz, timestamptz),
    create_outbox_partition(timestamptz, timestamptz), drop_outbox_partition(text) to public;
