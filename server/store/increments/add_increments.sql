-- The function add_increments as the migrations leave it: it records a batch that only adds
-- up. Nothing executes this file. It is here to be read: migration 48 creates the function,
-- and migrations 49, 71, 87 and 101 patch it. A test compares it with the function of a migrated database,
-- so a migration that changes the function changes this file.

create or replace function add_increments(
    board_ids text[], lowest bigint[], highest bigint[], -- boards and the bounds of the deltas on each
    user_ids text[],                                     -- different users in byte order
    pair_users integer[], pair_boards integer[],         -- different pairs of user and board in byte order, by index
    pair_user_ids text[], pair_board_ids text[], sums bigint[], counts integer[],
    row_pairs integer[], row_sums bigint[], row_counts integer[], -- up to and with the row; one row a board of an item
    row_users text[], row_boards text[], events uuid[], event_texts text[], hashes bytea[], deltas bigint[],
    sources text[], shards smallint[], client_times timestamptz[], actions text[], keys text[], signers text[],
    addresses text[], agents text[], countries text[], traces text[],
    accepted_keys text[], -- of increments that were accepted earlier
    since timestamptz,    -- of the window in which repeats are recognized
    -- boards.rules_version by which boards were chosen for increments that name none; null: all name theirs
    rules bigint default null,
    -- added, unusual (nothing was written; the unusual users or boards, where they are known,
    -- are why) or locked (nothing was written; a user is locked by another transaction)
    out outcome text, out unusual_users text[], out unusual_boards text[],
    out times timestamptz[],                   -- of what is recorded for each user
    out scores_after bigint[], out versions bigint[], -- of each pair that has a new event
    -- Rows of the ledger for events that were known, each with the index of a row.
    out known_rows integer[], out known_boards text[], out known_hashes bytea[], out known_applied bigint[],
    out known_previous bigint[], out known_scores bigint[], out known_versions bigint[],
    out known_times timestamptz[], out known_reversed boolean[])
language plpgsql volatile
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_variable
declare
    stage text := 'boards';
    signs integer[]; -- of order_key
    mins bigint[];
    maxs bigint[];
    revisions bigint[];
    repeats bigint[];
    paired boolean; -- one of them counts on a board with subscores
begin
    outcome := 'unusual';
    -- Shared; freeze and rollover take it exclusively. The status is read in a separate
    -- statement, after the wait.
    perform pg_advisory_xact_lock_shared(hashtextextended(split_part(t.id, ':', 1), 0)) from unnest(board_ids) as t(id);
    select array_agg(case b.sort_order when 'highest' then -1 else 1 end order by t.n),
        array_agg(b.min_score order by t.n), array_agg(b.max_score order by t.n)
    into signs, mins, maxs
    from unnest(board_ids, lowest, highest) with ordinality as t(id, low, high, n)
    cross join lateral (select * from boards where board_id = t.id offset 0) as b
    where b.mode = 'increment' and b.status = 'active' and b.period = 'none' and b.min_delta <= t.low
        and b.max_delta >= t.high and not b.require_action_token and not b.require_attestation and b.attempts = 0 and b.metadata is null and b.subscore is null
        and (rules is null or b.board_id <> 'global' or b.rules_version = rules);
    if coalesce(cardinality(signs), 0) < cardinality(board_ids) then
        select array_agg(t.id) into unusual_boards from unnest(board_ids, lowest, highest) as t(id, low, high)
        where not exists (select from boards as b where b.board_id = t.id and b.mode = 'increment'
            and b.status = 'active' and b.period = 'none' and not b.require_action_token
            and not b.require_attestation and b.attempts = 0 and b.metadata is null and b.subscore is null offset 0);
        return;
    end if;
    if accepted_keys is not null and exists (select from unnest(accepted_keys) as t(id) cross join lateral (
            select from keys as k where k.key_id = t.id and k.revoked_at is not null offset 0) as k) then
        return;
    end if;

    stage := 'users';
    with locked as (
        insert into users as u (user_id, last_recorded_at)
        select t.id, clock_timestamp() from unnest(user_ids) as t(id)
        on conflict (user_id) do update set last_recorded_at = greatest(clock_timestamp(), u.last_recorded_at)
        returning u.user_id, case when u.private then 'private' else u.status end as status, u.last_recorded_at
    )
    select array_agg(l.last_recorded_at order by l.user_id), array_agg(l.user_id) filter (where l.status <> 'active')
    into times, unusual_users from locked as l;
    if unusual_users is not null then
        raise sqlstate 'SB001';
    end if;

    stage := 'rows';
    select array_agg(t.n) into repeats
    from unnest(row_users, events) with ordinality as t(u, e, n)
    where exists (select from user_score_histories as h
        where h.user_id = t.u and h.event_id = t.e and (h.source = 'admin') = false and h.recorded_at >= since offset 0);
    if repeats is not null then
        select array_agg(t.n), array_agg(h.board_id), array_agg(h.payload_hash), array_agg(h.applied),
            array_agg(h.previous_score), array_agg(h.new_score), array_agg(h.version), array_agg(h.recorded_at),
            array_agg(exists (select from reversals as r
                where r.user_id = h.user_id and r.event_id = h.event_id and not r.internal)),
            bool_or(h.new_subscore is not null)
        into known_rows, known_boards, known_hashes, known_applied, known_previous, known_scores, known_versions,
            known_times, known_reversed, paired
        from unnest(repeats) as t(n) cross join lateral (select * from user_score_histories as h
            where h.user_id = row_users[t.n] and h.event_id = events[t.n] and (h.source = 'admin') = false
                and h.recorded_at >= since offset 0) as h;
        if paired then
            raise sqlstate 'SB001';
        end if;
        -- The sums again, without the repeats.
        with kept as (
            select t.n, t.pair, (sum(t.delta) over w)::bigint as so_far, row_number() over w as nth
            from unnest(row_pairs, deltas) with ordinality as t(pair, delta, n)
            where t.n <> all (repeats) window w as (partition by t.pair order by t.n)
        ), pairs as (
            select distinct on (k.pair) k.pair, k.so_far, k.nth, dense_rank() over (order by k.pair) as place
            from kept as k order by k.pair, k.nth desc
        ), placed as (
            select array_agg(pair_users[p.pair] order by p.place) as u, array_agg(pair_boards[p.pair] order by p.place) as b,
                array_agg(pair_user_ids[p.pair] order by p.place) as ui,
                array_agg(pair_board_ids[p.pair] order by p.place) as bi,
                array_agg(p.so_far order by p.place) as s, array_agg(p.nth order by p.place) as c
            from pairs as p
        ), rows as (
            select array_agg(p.place order by t.n) as p, array_agg(k.so_far order by t.n) as s,
                array_agg(k.nth order by t.n) as c
            from generate_subscripts(row_pairs, 1) as t(n)
            left join kept as k on k.n = t.n left join pairs as p on p.pair = k.pair
        )
        select placed.u, placed.b, placed.ui, placed.bi, placed.s, placed.c, rows.p, rows.s, rows.c
        into pair_users, pair_boards, pair_user_ids, pair_board_ids, sums, counts, row_pairs, row_sums, row_counts
        from placed, rows;
        if sums is null then -- there is nothing new
            outcome := 'added';
            return;
        end if;
    end if;

    with changed as (
        insert into scores as s (user_id, board_id, score, order_key, version, revision, reached_at, recorded_at)
        select t.u, t.b, t.sum, signs[t.board] * t.sum, t.n, t.n, times[t.usr], times[t.usr]
        from unnest(pair_user_ids, pair_board_ids, pair_users, pair_boards, sums, counts) as t(u, b, usr, board, sum, n)
        on conflict (user_id, board_id) do update set score = s.score + excluded.score,
            order_key = s.order_key + excluded.order_key, version = s.version + excluded.version,
            revision = s.revision + excluded.revision, reached_at = excluded.reached_at,
            recorded_at = excluded.recorded_at
        where not s.hidden and not s.empty
        returning s.user_id, s.board_id, s.score, s.version, s.revision
    )
    select array_agg(c.score order by c.user_id, c.board_id), array_agg(c.version order by c.user_id, c.board_id),
        array_agg(c.revision order by c.user_id, c.board_id)
    into scores_after, versions, revisions from changed as c;
    if coalesce(cardinality(scores_after), 0) < cardinality(sums) then
        select array_agg(s.user_id) into unusual_users
        from unnest(pair_user_ids, pair_board_ids) as t(u, b) cross join lateral (
            select * from scores where user_id = t.u and board_id = t.b and (hidden or empty) offset 0) as s;
        raise sqlstate 'SB001';
    end if;

    with t as materialized (
        select r.*, scores_after[r.pair] - sums[r.pair] + r.so_far as score,
            versions[r.pair] - counts[r.pair] + r.nth as version, revisions[r.pair] - counts[r.pair] + r.nth as revision,
            times[pair_users[r.pair]] as recorded_at, pair_boards[r.pair] as board
        from unnest(row_pairs, row_sums, row_counts, row_users, row_boards, events, event_texts, hashes, deltas, sources,
            shards, client_times, actions, keys, signers, addresses, agents, countries, traces)
            as r(pair, so_far, nth, user_id, board_id, event_id, event_text, payload_hash, delta, source,
            shard, client_time, action, key_id, signer, address, agent, country, trace)
        where r.pair is not null
    ), ledger as (
        insert into user_score_histories (user_id, board_id, event_id, event_text, payload_hash, delta, applied,
            previous_score, new_score, version, recorded_at, client_timestamp, source, action, key_id, signer, address,
            user_agent, country)
        select t.user_id, t.board_id, t.event_id, t.event_text, t.payload_hash, t.delta, t.delta, t.score - t.delta,
            t.score, t.version, t.recorded_at, t.client_time, t.source, t.action, t.key_id, t.signer, t.address,
            t.agent, t.country
        from t
    ), outbox as (
        insert into outbox_score_updates (shard, event_id, user_id, board_id, score, previous_score, delta, order_key,
            version, revision, reached_at, recorded_at, trace)
        select t.shard, t.event_id, t.user_id, t.board_id, t.score, t.score - t.delta, t.delta, signs[t.board] * t.score,
            t.version, t.revision, t.recorded_at, t.recorded_at, t.trace
        from t
    )
    select array_agg(t.user_id) into unusual_users from t where t.score < mins[t.board] or t.score > maxs[t.board];
    if unusual_users is not null then
        raise sqlstate 'SB001';
    end if;
    outcome := 'added';
exception
    when sqlstate 'SB001' or check_violation then -- of a score, or there is no partition for the time
        null;
    when lock_not_available then
        if stage <> 'users' then
            raise;
        end if;
        outcome := 'locked';
end
$$;
