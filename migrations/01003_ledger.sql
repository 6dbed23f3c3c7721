-- Why: what increments write. The ledger has every event on every board, once, with the score
-- before and after it: the audit trail, the basis for recognizing repeats, and what verify
-- adds up. A score is the current state of one user on one board, and the last row of the
-- ledger says the same.

-- +goose Up
-- A row is the score of a user on a board. order_key is the score in ranking order, lower
-- first (−score where the highest is first): one ascending index ranks every board. On equal
-- keys the lower sub_key is first, which is 0 on boards without subscores, then the earlier
-- reached_at. Ranks are counted in standings: no index here has a column that an increment
-- changes, so its updates are HOT.
create table scores (
    user_id     text collate "C" not null,
    board_id    text collate "C" not null,
    score       bigint not null,
    order_key   bigint not null,
    subscore    bigint not null default 0,
    sub_key     bigint not null default 0,
    version     bigint not null,
    revision    bigint not null,
    reached_at  timestamptz not null,
    recorded_at timestamptz not null,
    hidden      boolean not null default false,
    -- Every submission of the user on a best or latest board is reversed. The row keeps the
    -- versions and is hidden as if it did not exist.
    empty       boolean not null default false,
    -- Rows of the ledger that are no attempt: those of corrections and imports, and reversed
    -- events of clients. The attempts in force are the version without them.
    uncounted   bigint not null default 0,
    -- When the last action with a minimum duration ends, before which the next one cannot
    -- begin: a player can start any number of actions at once. Null: none.
    action_until     timestamptz,
    -- That of the submission that made the score, valid while metadata_version is version.
    metadata         text,
    metadata_version bigint,
    constraint scores_pkey primary key (user_id, board_id),
    constraint scores_score_check check (score between -9007199254740991 and 9007199254740991),
    constraint scores_order_key_check check (order_key = score or order_key = -score),
    -- A tombstone has no ledger rows, and therefore version 0.
    constraint scores_version_check check (revision >= 1 and (version >= 1 or version = 0 and hidden))
) with (fillfactor = 75, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
-- For what is read of one board: final standings, rebuilds, comparisons.
create index scores_board on scores (board_id, user_id);

-- A row is an event on a board. The table grows without bound, so it is partitioned by
-- recorded_at; old partitions are detached and archived.
--
-- An event's identity contains whether the event is internal (source admin): clients choose
-- their event ids, so a client's id and the same id of a correction are two events. A unique
-- key over all partitions would have to contain recorded_at. Instead each leaf has its own
-- unique index, and the lock on the user's row covers the boundary between two. No foreign
-- keys: they would lock and probe rows that the write path has already locked and probed.
create table user_score_histories (
    user_id           text collate "C" not null,
    board_id          text collate "C" not null,
    event_id          uuid not null,
    event_text        text,             -- as sent, if different from event_id
    payload_hash      bytea not null,   -- a repeat must have the same
    delta             bigint not null,  -- as submitted
    applied           bigint not null,  -- new_score − previous_score
    previous_score    bigint,           -- null: no previous score (best and latest boards)
    new_score         bigint not null,
    subscore          bigint,           -- as submitted
    previous_subscore bigint,
    new_subscore      bigint,           -- null: the board has no subscores
    version           bigint not null,
    recorded_at       timestamptz not null,
    client_timestamp  timestamptz,
    source            text not null,
    action            text,
    key_id            text,
    signer            text,
    address           text,
    user_agent        text,
    country           text,
    metadata          text,
    constraint user_score_histories_version_check check (version >= 1),
    constraint user_score_histories_source_check check (source in ('api', 'batch', 'async', 'admin'))
) partition by range (recorded_at);
-- For statements. Its collation is that of "C" under another name, so that the
-- planner cannot use this index to look up an event: while a table is small both
-- indexes cost the same, the plan is kept, and later reads an active user's whole
-- history for each event.
create index user_score_histories_user on user_score_histories (user_id collate "POSIX", recorded_at);
-- A user's recent actions. It contains only rows with an action.
create index user_score_histories_action on user_score_histories (user_id, action, recorded_at) where action is not null;
-- Rows are stored in time order, so an hour takes a few pages of the index.
create index user_score_histories_recorded on user_score_histories using brin (recorded_at);

-- create_ledger_partition creates a partition, unless it exists. Repeats are recognized in the
-- current and the previous partition, so the span of a partition is also the minimum
-- deduplication window: below a day, a client that retries after a night would count twice.
-- The bounds keep the runtime role from creating partitions of any length. The unique index
-- begins with the event, which compares sixteen bytes where the user is a text in a collation.
-- It is made last: of indexes that cost the same, as on a partition that was analysed while
-- empty, the planner takes the newest, and any other reads a part of the table for each event.
-- +goose StatementBegin
create function create_ledger_partition(starts timestamptz, ends timestamptz) returns boolean
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
    execute format('alter table user_score_histories attach partition %I for values from (%L) to (%L)',
                   leaf, starts, ends);
    execute format('create unique index %I on %I (event_id, user_id, board_id, (source = ''admin''))',
                   leaf || '_event', leaf);
    return true;
end
$$;
-- +goose StatementEnd
select run_as_owner('create_ledger_partition(timestamptz, timestamptz)');

-- +goose StatementBegin
do $$
declare
    month timestamptz := date_trunc('month', clock_timestamp() at time zone 'UTC') at time zone 'UTC';
begin
    for i in -1..2 loop
        perform create_ledger_partition(
            (month at time zone 'UTC' + make_interval(months => i)) at time zone 'UTC',
            (month at time zone 'UTC' + make_interval(months => i + 1)) at time zone 'UTC');
    end loop;
end
$$;
-- +goose StatementEnd

-- summarize_ledger completes the index of the ledger by time, which otherwise waits for a
-- vacuum: rows that are not summarized are read by every search.
-- +goose StatementBegin
create function summarize_ledger() returns void
language plpgsql volatile as $$
begin
    perform brin_summarize_new_values(inhrelid::regclass) from pg_inherits
    where inhparent = 'user_score_histories_recorded'::regclass;
end
$$;
-- +goose StatementEnd
select run_as_owner('summarize_ledger()');

-- A row is an event that is currently reversed, so that nothing is reversed twice and a repeat
-- of the original can report it. A reversal is an event of its own.
create table reversals (
    user_id     text collate "C" not null,
    event_id    uuid not null,    -- the reversed event
    internal    boolean not null, -- whether it is internal
    reversal_id uuid not null,    -- the reversing event
    void_id     bigint,           -- null: not part of a void
    constraint reversals_pkey primary key (user_id, event_id, internal)
);

-- A row is an event that was accepted with 202 and then rejected, so that its outcome can be
-- read. Recorded events are in the ledger. An event may be accepted again after it was
-- rejected, and then it is pending: the time of acceptance says which attempt a rejection
-- belongs to. Rejections are deleted by age and number, by the index.
create table rejected_events (
    user_id      text collate "C" not null,
    event_id     uuid not null,
    payload_hash bytea not null,
    error_code   text not null,
    message      text not null,
    accepted_at  timestamptz not null,
    rejected_at  timestamptz not null default clock_timestamp(),
    constraint rejected_events_pkey primary key (user_id, event_id)
);
create index rejected_events_age on rejected_events (rejected_at);

-- A row is an action token that was used, in the transaction that records its event: a crash
-- leaves both or neither, so no token is used up without a receipt. A token belongs to one
-- user, whose row is locked; the primary key is a second safeguard.
create table used_action_tokens (
    user_id   text collate "C" not null,
    action_id uuid not null,
    event_id  uuid not null, -- the event that used it
    used_at   timestamptz not null default clock_timestamp(),
    constraint used_action_tokens_pkey primary key (user_id, action_id)
);
create index used_action_tokens_age on used_action_tokens (used_at);

-- A row is a key that signs requests.
create table keys (
    key_id      text collate "C" not null,
    name        text not null,
    boards      text[],             -- null: all
    user_prefix text,               -- null: all
    max_delta   bigint,
    per_minute  integer,
    created_at  timestamptz not null default clock_timestamp(),
    expires_at  timestamptz,
    revoked_at  timestamptz,
    constraint keys_pkey primary key (key_id),
    constraint keys_name_check check (octet_length(name) between 1 and 128)
);

-- A row is a secret of a key, which has several during a rotation. Secrets are sealed with a
-- master key from the environment and cannot be read here.
create table key_secrets (
    key_id     text collate "C" not null,
    generation integer not null,
    sealed     bytea not null,
    created_at timestamptz not null default clock_timestamp(),
    retires_at timestamptz,
    constraint key_secrets_pkey primary key (key_id, generation),
    constraint key_secrets_key_id_fkey foreign key (key_id) references keys on delete cascade
);

-- add_increments records a batch that only adds up, as most batches do: two round trips and
-- seven statements for them cost more than the additions do. It takes the same locks in the
-- same order as the statements of package ledgertx, looks up known events under the locks, and
-- writes the same rows. It gives up, without a trace, wherever a decision beyond adding is
-- needed; the caller then takes the statements.
--
-- Volatile, so that each statement has a snapshot of its own: known events are looked up
-- in one that was taken under the locks. Plans are made once and must stay good while
-- tables grow from nothing: only index probes are left to choose from.
-- +goose StatementBegin
create function add_increments(
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
        and b.max_delta >= t.high and not b.require_action_token and not b.require_attestation
        and b.attempts = 0 and b.metadata is null and b.subscore is null
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
        returning u.user_id, case when u.private then 'private' else u.status end as status,
            u.last_recorded_at
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
-- +goose StatementEnd

-- A row is up to when old personal data of one kind was deleted.
create table retention (
    name text not null,
    done timestamptz not null,
    constraint retention_pkey primary key (name)
);

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
select run_as_owner('forget_addresses(interval)');

-- erase_ledger_rows moves the oldest rows of an erased user on a board to the anonymous
-- name, without personal data, and returns the last of them and how many there were; no
-- row if there were none. Event ids of imports are derived from the user, so they are replaced
-- by random ones: an import's event is one row, on one board, and nothing refers to it. The
-- metadata of scores is removed when the erasure begins (store/users).
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
            event_id = case when h.source = 'admin' and h.action = 'import' then gen_random_uuid() else h.event_id end,
            payload_hash = '\x00000000000000000000000000000000',
            client_timestamp = null, signer = null, address = null, user_agent = null, country = null,
            metadata = null
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
select run_as_owner('erase_ledger_rows(text, text, text, integer)');

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
select run_as_owner('open_ledger_partition(refcursor, text)');

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
select run_as_owner('detach_ledger_partition(text, bigint)');

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
select run_as_owner('drop_ledger_partition(text)');
