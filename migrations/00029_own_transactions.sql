-- Why: a void waited for writing transactions in other databases of the server, which
-- cannot add events to this one.

-- +goose Up
-- oldest_own_transaction is as oldest_transaction, in this database alone.
create function oldest_own_transaction() returns timestamptz
language sql volatile as $$
    select min(since) from (
        select xact_start as since from pg_stat_activity
        where datname = current_database() and backend_xid is not null and pid <> pg_backend_pid()
        union all select prepared from pg_prepared_xacts where database = current_database()) as t
$$;
select run_as_owner('oldest_own_transaction()');

-- +goose Down
drop function oldest_own_transaction;
