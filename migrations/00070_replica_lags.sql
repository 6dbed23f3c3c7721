-- Why: only members of pg_read_all_stats see how far replicas are behind, which the daemon's
-- role is not, so that the alert ReplicaLag could not fire. This function runs as the owner,
-- whom providers make a member, and tells the daemon nothing else of other sessions.

-- +goose Up
-- An idle replica has no replay_lag, and has applied everything that it received. Null: the
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
select run_as_owner('replica_lags()'::regprocedure);

-- +goose Down
drop function replica_lags;
