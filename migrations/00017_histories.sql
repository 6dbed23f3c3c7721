-- Why: a database that was restored, or a replica promoted without the last
-- commits, has gone back in time. Changes published from the lost history have
-- higher revisions than the database and would win. So the relay's cursor names
-- its history, and each adopted history has a start time.

-- +goose Up
-- store_history identifies this database's history: the cluster, its timeline, and
-- the database in it, which restoring a dump changes. Null if this role lacks the
-- permission.
-- +goose StatementBegin
create function store_history() returns text
language plpgsql volatile as $$
begin
    return (select system_identifier from pg_control_system())
        || '/' || left(pg_walfile_name(pg_current_wal_flush_lsn()), 8)
        || '/' || (select oid from pg_database where datname = current_database());
exception when insufficient_privilege then
    return null;
end
$$;
-- +goose StatementEnd

alter table relay_shards add column history text;

-- Histories adopted after another one. Changes recorded before since that are not
-- in the database are lost and must stay lost.
create table adopted_histories (
    history text not null,
    since   timestamptz not null default clock_timestamp(),
    constraint adopted_histories_pkey primary key (history, since)
);

-- +goose Down
drop table adopted_histories;
alter table relay_shards drop column history;
drop function store_history;
