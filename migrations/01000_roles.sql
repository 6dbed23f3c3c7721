-- Why: the role that migrates owns everything. The daemon uses another one, which can only
-- add rows to the ledger and the audit trail. What the daemon must change in them
-- nevertheless, and partitions, are functions that run as the owner and check their
-- arguments. A daemon that connects as the owner has all rights.
--
-- The files from 01000 to 01009 are the schema of release 1.0, by subject. Text that orders
-- or keys is collate "C": byte order, the same as in Redis. Users come first in the keys of
-- what increments write, so that the write path can be distributed by user.

-- +goose Up
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
    -- A role that can create a function here might have the owner run it.
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

-- oldest_transaction returns when the oldest writing transaction began that the owner
-- can see; roles see each other's transactions only as members or superusers.
create function oldest_transaction() returns timestamptz
language sql volatile as $$
    select min(since) from (
        select xact_start as since from pg_stat_activity where backend_xid is not null and pid <> pg_backend_pid()
        union all select prepared from pg_prepared_xacts) as t
$$;
select run_as_owner('oldest_transaction()');

-- oldest_own_transaction is as oldest_transaction, in this database alone.
create function oldest_own_transaction() returns timestamptz
language sql volatile as $$
    select min(since) from (
        select xact_start as since from pg_stat_activity
        where datname = current_database() and backend_xid is not null and pid <> pg_backend_pid()
        union all select prepared from pg_prepared_xacts where database = current_database()) as t
$$;
select run_as_owner('oldest_own_transaction()');

-- replica_lags returns how far replicas are behind, in seconds. Only members of
-- pg_read_all_stats see it: providers make the owner one, and the daemon's role is none. An
-- idle replica has no replay_lag, and has applied everything that it received. Null: the
-- owner does not see it, either.
create function replica_lags(out replica text, out behind double precision) returns setof record
language sql volatile as $$
    select coalesce(nullif(application_name, ''), client_addr::text, 'local')
            || case when nth > 1 then '#' || nth else '' end,
        case when state is null then null when replay_lsn >= sent_lsn then 0
            else coalesce(extract(epoch from replay_lag)::float8, 0) end
    from (select *, row_number() over (partition by application_name, client_addr order by pid) as nth
        from pg_stat_replication) as r
    order by pid
$$;
select run_as_owner('replica_lags()');
