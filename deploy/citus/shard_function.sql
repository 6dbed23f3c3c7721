-- An experiment (docs/citus.md): makes on a worker, for each shard of the users that it has,
-- a copy of add_increments over the tables of that shard: add_increments_SHARD. Citus does
-- not plan the function over distributed tables. Run it on each worker.
do $$
declare
    body constant text := pg_get_functiondef('add_increments'::regproc);
    users_shard record;
    name text;
    shard bigint;
    def text;
begin
    for users_shard in select s.shardid, s.shardminvalue from pg_dist_shard as s
        join pg_dist_placement as p using (shardid) join pg_dist_local_group as l on l.groupid = p.groupid
        where s.logicalrelid = 'users'::regclass loop
        def := replace(body, 'FUNCTION public.add_increments(', format('FUNCTION public.add_increments_%s(', users_shard.shardid));
        foreach name in array array['users', 'scores', 'user_score_histories', 'outbox_score_updates', 'reversals'] loop
            select s.shardid into shard from pg_dist_shard as s
            where s.logicalrelid = name::regclass and s.shardminvalue = users_shard.shardminvalue;
            def := regexp_replace(def, format('(into|from) %s\M', name), format('\1 %s_%s', name, shard), 'g');
        end loop;
        foreach name in array array['boards', 'keys'] loop -- reference tables
            select s.shardid into shard from pg_dist_shard as s where s.logicalrelid = name::regclass;
            def := regexp_replace(def, format('from %s\M', name), format('from %s_%s', name, shard), 'g');
        end loop;
        -- Shards have no default from a sequence.
        def := replace(def, format('(shard, event_id, user_id, board_id, score, previous_score, delta'),
            '(id, shard, event_id, user_id, board_id, score, previous_score, delta');
        def := replace(def, 'select t.shard, t.event_id, t.user_id, t.board_id, t.score, t.score - t.delta, t.delta, signs',
            'select nextval(''outbox_score_updates_id''), t.shard, t.event_id, t.user_id, t.board_id, t.score,'
            ' t.score - t.delta, t.delta, signs');
        execute def;
    end loop;
end
$$;
