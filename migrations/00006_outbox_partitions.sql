-- Why: published rows are dropped with their whole partition. A partition can be
-- dropped only if no row in it is after its shard's cursor. That must be checked
-- under a lock that excludes writers: a transaction that began earlier could still
-- insert a row.

-- +goose Up
-- +goose StatementBegin
create function outbox_partition_waits(leaf text) returns boolean
language plpgsql as $$
declare
    waits boolean;
begin
    -- One index probe per shard, whatever the size.
    execute format($look$
        select exists (
            select from generate_series(0, coalesce((select max(shard) from %1$I), -1)) as t(s)
            left join relay_shards r on r.shard = t.s
            cross join lateral (
                select from %1$I as l
                where l.shard = t.s and (l.xid, l.id) > (coalesce(r.cursor_xid, '0'::xid8), coalesce(r.cursor_id, 0))
                limit 1) as waiting)
        $look$, leaf) into waits;
    return waits;
end
$$;
-- +goose StatementEnd

-- drop_outbox_partition drops a partition without waiting rows, or empties the
-- default one, and returns whether it did. The caller sets lock_timeout.
-- +goose StatementBegin
create function drop_outbox_partition(leaf text) returns boolean
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

-- +goose Down
drop function drop_outbox_partition;
drop function outbox_partition_waits;
