-- Why: a changed, deleted or inserted row of the audit trail must be noticed. Each
-- committed row gets a seal: a hash over its fields and the seal before it, in the order
-- of (xid, id), below the oldest running transaction, as in the outbox. The functions run
-- as the owner; the head, which the daemon logs, proves to a third party what was there.
--
-- Fields with personal data are in the hash as digests, each with a random key that is
-- stored beside it. An erasure replaces the field and deletes its key: the chain stays
-- intact, and the digest says nothing about the field any more.

-- +goose Up
-- Rows from before this migration have its transaction, so they are sealed first, by id.
alter table audit_log add column xid xid8 not null default pg_current_xact_id();

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

-- The last seal. Its lock lets one sealer work at a time.
create table audit_head (
    single boolean not null default true,
    seq    bigint not null,
    hash   bytea not null,
    constraint audit_head_pkey primary key (single),
    constraint audit_head_single_check check (single)
) with (fillfactor = 30);
insert into audit_head (seq, hash) values (0, sha256(''));

-- Rows without a seal, so that finding them costs nothing on a long trail. A row that is
-- in neither was added behind the triggers' back.
create table audit_unsealed (
    audit_id bigint not null,
    constraint audit_unsealed_pkey primary key (audit_id)
);
insert into audit_unsealed select id from audit_log;

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

-- The head's lock keeps a sealer from storing a key of a name that is being erased.
-- +goose StatementBegin
create or replace function erase_audit_target(erased text, anonymous text) returns void
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

-- +goose Down
-- +goose StatementBegin
create or replace function erase_audit_target(erased text, anonymous text) returns void
language plpgsql as $$
begin
    perform check_erased(erased, anonymous);
    update audit_log set target = 'user:' || anonymous where target = 'user:' || erased;
end
$$;
-- +goose StatementEnd
select run_as_owner('erase_audit_target(text, text)');
drop trigger audit_log_queue_seal on audit_log;
drop function queue_audit_seal;
drop function seal_audit;
drop table audit_unsealed, audit_head, audit_seals;
drop function refuse_seal_change;
drop function audit_field;
alter table audit_log drop column xid;
