-- Why: every change by an operator can be traced: operator, origin, action,
-- target and reason. Rows are only added: no role may change or delete one,
-- except that an erased user's id is replaced by an anonymous one.

-- +goose Up
create table audit_log (
    id         bigint generated always as identity,
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

-- +goose Down
drop table audit_log;
drop function refuse_audit_change;
