-- Why: before ids that begin with erased- were reserved, a user could have one. Such a user could not
-- be erased: the audit trail took the entries about the user for those of somebody who is erased
-- already, and refused to change them. Now it looks up who is erased under which name.
--
-- Daemons of the version before erase such users as well.

-- +goose Up
-- +goose StatementBegin
create or replace function refuse_audit_change() returns trigger
language plpgsql as $$
begin
    if tg_op = 'UPDATE' and new.target like 'user:erased-%' and (old.target not like 'user:erased-%' or exists (
            select from users where 'user:' || user_id = old.target and status = 'erased'
                and 'user:' || erased_as = new.target)) then
        if (to_jsonb(new) - 'target') = (to_jsonb(old) - 'target') then
            return new;
        end if;
    end if;
    raise exception 'the audit trail is append-only' using errcode = 'insufficient_privilege';
end
$$;
-- +goose StatementEnd

-- +goose Down
-- +goose StatementBegin
create or replace function refuse_audit_change() returns trigger
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
