-- Why: a database that was restored, or a replica that was promoted without the
-- last commits, has gone back in time. What was published of the lost future
-- has greater revisions than the truth, and would win. So the relay's cursor
-- says of which history it is, and from when on a history counts.

-- +goose Up
-- store_history names this database's line of history: the cluster, its
-- timeline, and the database in it, which a dump that is read back changes.
-- Null where this role may not ask.
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

-- Histories that were adopted after another one. What was recorded before
-- since, and is not in the database, is lost and must stay so.
create table adopted_histories (
    history text not null,
    since   timestamptz not null default clock_timestamp(),
    constraint adopted_histories_pkey primary key (history, since)
);

-- +goose Down
drop table adopted_histories;
alter table relay_shards drop column history;
drop function store_history;
