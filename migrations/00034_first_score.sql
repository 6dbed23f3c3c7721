-- Why: in a new database the first score met empty standings, which were taken for emptied
-- ones and filled again. Until then reads whose ranking was late answered 503. Standings
-- have everything that was recorded before as_of; only if they lack that were they emptied.

-- +goose Up
create or replace function standings_stale() returns boolean
language sql volatile as $$
    select cluster is null or (cluster <> c and '' not in (cluster, c))
        or exists (select from standings_cursors where cursor_xid > pg_snapshot_xmax(pg_current_snapshot()))
        or fill_user is null and not exists (select from standings)
            and exists (select from scores where recorded_at < as_of)
    from standings_state, standings_cluster() as c
$$;

-- +goose Down
create or replace function standings_stale() returns boolean
language sql volatile as $$
    select cluster is null or (cluster <> c and '' not in (cluster, c))
        or exists (select from standings_cursors where cursor_xid > pg_snapshot_xmax(pg_current_snapshot()))
        or fill_user is null and not exists (select from standings) and exists (select from scores)
    from standings_state, standings_cluster() as c
$$;
