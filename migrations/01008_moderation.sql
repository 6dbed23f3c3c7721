-- Why: every change by an operator can be traced, what looks wrong waits for review, and what
-- was wrong can be taken back without a gap in the ledger.

-- +goose Up
-- A row is a change by an operator: who, from where, what, to what and why. Rows are only added:
-- no role may change or delete one, except that an erased user's id is replaced by an anonymous
-- one.
create table audit_log (
    id         bigint generated always as identity,
    xid        xid8 not null default pg_current_xact_id(),
    at         timestamptz not null default clock_timestamp(),
    who        text collate "C" not null, -- sub of the token
    address    text not null,
    user_agent text not null,
    request_id text not null,
    action     text collate "C" not null, -- user.ban, key.create, POST /v1/…
    target     text collate "C" not null, -- user:alice, board:global, …
    reason     text not null,
    detail     jsonb,
    constraint audit_log_pkey primary key (id)
);
create index audit_log_target on audit_log (target, id);

-- +goose StatementBegin
create function refuse_audit_change() returns trigger
language plpgsql as $$
begin
    if tg_op = 'UPDATE' and new.target like 'user:erased-%' and old.target not like 'user:erased-%' then
        if (to_jsonb(new) - 'target') = (to_jsonb(old) - 'target') then
            return new;
        end if;
    end if;
    raise exception 'the audit trail is append-only' using errcode = 'insufficient_privilege';
end
$$;
-- +goose StatementEnd
create trigger audit_log_append_only before update or delete on audit_log
    for each row execute function refuse_audit_change();
create trigger audit_log_no_truncate before truncate on audit_log
    for each statement execute function refuse_audit_change();

-- A row is the seal of a row of the trail, so that a changed, deleted or inserted one is noticed:
-- a hash over its fields and the seal before it, in the order of (xid, id), below the oldest
-- running transaction, as in the outbox. The functions run as the owner; the head, which the
-- daemon logs, proves to a third party what was there.
--
-- Fields with personal data are in the hash as digests, each with a random key that is
-- stored beside it. An erasure replaces the field and deletes its key: the chain stays
-- intact, and the digest says nothing about the field any more.
create table audit_seals (
    seq           bigint not null,  -- 1, 2, 3 without a gap
    audit_id      bigint not null,
    origin_key    bytea not null,   -- of who, address and user_agent
    origin_digest bytea not null,
    target_key    bytea,            -- null: the target was erased
    target_digest bytea not null,
    hash          bytea not null,
    sealed_at     timestamptz not null default clock_timestamp(),
    constraint audit_seals_pkey primary key (seq),
    constraint audit_seals_audit_id_key unique (audit_id)
);

-- +goose StatementBegin
create function refuse_seal_change() returns trigger
language plpgsql as $$
begin
    if tg_op = 'UPDATE' and old.target_key is not null and new.target_key is null then
        if (to_jsonb(new) - 'target_key') = (to_jsonb(old) - 'target_key') then
            return new;
        end if;
    end if;
    raise exception 'the audit trail is append-only' using errcode = 'insufficient_privilege';
end
$$;
-- +goose StatementEnd
create trigger audit_seals_append_only before update or delete on audit_seals
    for each row execute function refuse_seal_change();
create trigger audit_seals_no_truncate before truncate on audit_seals
    for each statement execute function refuse_seal_change();

-- The one row is the last seal. Its lock lets one sealer work at a time.
create table audit_head (
    single boolean not null default true,
    seq    bigint not null,
    hash   bytea not null,
    constraint audit_head_pkey primary key (single),
    constraint audit_head_single_check check (single)
) with (fillfactor = 30);
insert into audit_head (seq, hash) values (0, sha256(''));

-- A row is a row of the trail without a seal, so that finding them costs nothing on a long trail.
-- A row that is in neither was added behind the triggers' back.
create table audit_unsealed (
    audit_id bigint not null,
    constraint audit_unsealed_pkey primary key (audit_id)
);

-- +goose StatementBegin
create function queue_audit_seal() returns trigger
language plpgsql as $$
begin
    insert into audit_unsealed (audit_id) values (new.id);
    return null;
end
$$;
-- +goose StatementEnd
select run_as_owner('queue_audit_seal()');
create trigger audit_log_queue_seal after insert on audit_log for each row execute function queue_audit_seal();

-- audit_field encodes a field with its length in bytes, −1 for null, so that no two lists
-- of fields have the same encoding.
create function audit_field(value text) returns bytea
language sql immutable as $$
    select case when value is null then int4send(-1)
        else int4send(octet_length(convert_to(value, 'UTF8'))) || convert_to(value, 'UTF8') end
$$;

-- seal_audit seals at most that many rows and returns the last seal and the number of
-- rows that it sealed. Package operations computes the same hashes to verify them.
-- +goose StatementBegin
create function seal_audit(most integer, out seq bigint, out hash bytea, out sealed integer)
language plpgsql as $$
declare
    it record;
    new_origin_key bytea;
    new_origin_digest bytea;
    new_target_key bytea;
    new_target_digest bytea;
begin
    -- Later statements see what the sealer before has committed.
    select h.seq, h.hash into strict seq, hash from audit_head as h for update;
    sealed := 0;
    -- Of another history (a restored dump), no transaction is left: package recovery.
    for it in
        select a.* from audit_unsealed as u join audit_log as a on a.id = u.audit_id
        where a.xid < pg_snapshot_xmin(pg_current_snapshot()) or a.xid >= pg_snapshot_xmax(pg_current_snapshot())
        order by a.xid, a.id limit most
    loop
        new_origin_key := uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid());
        new_target_key := uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid());
        new_origin_digest := sha256(new_origin_key || audit_field(it.who) || audit_field(it.address)
            || audit_field(it.user_agent));
        new_target_digest := sha256(new_target_key || audit_field(it.target));
        seq := seq + 1;
        sealed := sealed + 1;
        hash := sha256(hash || audit_field(seq::text) || audit_field(it.id::text) || audit_field(it.xid::text)
            || audit_field((extract(epoch from it.at) * 1000000)::bigint::text) || audit_field(it.request_id)
            || audit_field(it.action) || audit_field(it.reason) || audit_field(it.detail::text)
            || new_origin_digest || new_target_digest);
        insert into audit_seals (seq, audit_id, origin_key, origin_digest, target_key, target_digest, hash)
        values (seal_audit.seq, it.id, new_origin_key, new_origin_digest, new_target_key, new_target_digest,
            seal_audit.hash);
        delete from audit_unsealed where audit_id = it.id;
    end loop;
    if sealed > 0 then
        update audit_head set seq = seal_audit.seq, hash = seal_audit.hash;
    end if;
end
$$;
-- +goose StatementEnd
select run_as_owner('seal_audit(integer)');

-- erase_audit_target replaces an erased user's name in the audit trail. The head's lock keeps a
-- sealer from storing a key of a name that is being erased.
-- +goose StatementBegin
create function erase_audit_target(erased text, anonymous text) returns void
language plpgsql as $$
begin
    perform check_erased(erased, anonymous);
    perform from audit_head for update;
    with renamed as (
        update audit_log set target = 'user:' || anonymous where target = 'user:' || erased returning id
    )
    update audit_seals as s set target_key = null from renamed where s.audit_id = renamed.id
        and s.target_key is not null;
end
$$;
-- +goose StatementEnd
select run_as_owner('erase_audit_target(text, text)');

-- A row is an anomaly that waits for review, one open flag for each user and rule, so that no
-- user can flood the reviewers.
create table flags (
    id         bigint generated always as identity,
    rule       text not null,
    mode       text not null,
    user_id    text collate "C" not null,
    board_id   text collate "C" not null,
    event_id   uuid not null,
    event_text text not null,
    delta      bigint not null,
    detail     text not null,
    state      text not null default 'open',
    times      bigint not null default 1,
    created_at timestamptz not null default clock_timestamp(),
    last_at    timestamptz not null default clock_timestamp(),
    decided_by text,
    decided_at timestamptz,
    reason     text,
    constraint flags_pkey primary key (id),
    constraint flags_state_check check (state in ('open', 'dismissed', 'confirmed'))
);
create unique index flags_open on flags (user_id, rule) where state = 'open';
create index flags_state on flags (state, id);

-- A row is a void: it reverses everything that a key or an address sent in a period, or the
-- events that a what-if shows, and takes back the rewards that they earned. It is a job that
-- survives its process, hence the list of its events. It stores what went wrong and when it is
-- tried again, as a whole and for each event, so that no failure delays other events or voids.
create table voids (
    id          bigint generated always as identity,
    key_id      text,
    address     text,
    board_id    text collate "C", -- of the what-if; null: the void of a sender
    digest      text,             -- SHA-256 in hex of the what-if's events
    starts      timestamptz not null,
    ends        timestamptz not null,
    reason      text not null,
    who         text not null,
    created_at  timestamptz not null default clock_timestamp(),
    state       text not null default 'listing',
    done_at     timestamptz,      -- when all was reversed; the undo window starts here
    lease_until timestamptz not null default '-infinity',
    attempts    int not null default 0,  -- failed in a row
    problem     text,                    -- why the last one failed; null: it did not
    next_at     timestamptz not null default '-infinity', -- of the next attempt
    constraint voids_pkey primary key (id),
    constraint voids_sender_check check (num_nonnulls(key_id, address, digest) = 1),
    constraint voids_digest_check check ((board_id is null) = (digest is null)),
    constraint voids_span_check check (starts < ends),
    constraint voids_state_check check (state in ('listing', 'reversing', 'done', 'undoing', 'undone'))
);
-- Two operators who apply the same result at the same time start one void.
create unique index voids_digest on voids (digest) where digest is not null and state = 'reversing';

-- A row is an event of a void.
create table void_events (
    void_id  bigint not null,
    user_id  text collate "C" not null,
    event_id uuid not null,
    state    text not null default 'todo',
    note     text,               -- reason for a skip
    attempts int not null default 0,
    next_at  timestamptz not null default '-infinity',
    constraint void_events_pkey primary key (void_id, user_id, event_id),
    constraint void_events_void_id_fkey foreign key (void_id) references voids on delete cascade,
    constraint void_events_state_check check (state in ('todo', 'reversed', 'skipped', 'undone'))
);
create index void_events_state on void_events (void_id, state, user_id, event_id);
create index void_events_noted on void_events (void_id, user_id) where note is not null;

-- A row is a reward that a void took back until it is undone: an unclaimed one cannot be claimed,
-- and a claimed one is flagged. reward_grants.voids counts them, so that a claim reads one row.
create table void_rewards (
    void_id  bigint not null,
    grant_id bigint not null,
    constraint void_rewards_pkey primary key (void_id, grant_id),
    constraint void_rewards_void_id_fkey foreign key (void_id) references voids,
    constraint void_rewards_grant_id_fkey foreign key (grant_id) references reward_grants on delete cascade
);
create index void_rewards_grant_id on void_rewards (grant_id);
