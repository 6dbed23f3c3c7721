-- Why: a user can leave all boards and go on playing. users.private says so where every
-- writer reads it, with the lock of the user: what is recorded for a private user is hidden,
-- as is what is recorded for a banned one. Daemons of the version before do not know the
-- column: add_increments returns private users to them as unusual, and what they then record
-- is shown until a daemon of this version hides it again (once a minute).
--
-- private_users has since when a user was private until when: past boards need it. A user
-- without an end is private now.

-- +goose Up
alter table users add column private boolean not null default false;
alter table user_privacy drop constraint user_privacy_visibility_check,
    add constraint user_privacy_visibility_check check (visibility in ('public', 'pseudonym', 'friends', 'private'));

create table private_users (
    user_id text collate "C" not null,
    since   timestamptz not null,
    until   timestamptz,
    constraint private_users_pkey primary key (user_id, since),
    constraint private_users_user_id_fkey foreign key (user_id) references users on delete cascade,
    constraint private_users_until_check check (since <= until)
);
create unique index private_users_now on private_users (user_id) where until is null;

-- Only the status that it compares changes. The rest is that of migration 48.
-- +goose StatementBegin
do $$
declare
    known text := 'returning u.user_id, u.status, u.last_recorded_at';
    body  text := pg_get_functiondef('add_increments'::regproc);
begin
    if position(known in body) = 0 then
        raise exception 'add_increments is not the function that this migration changes';
    end if;
    execute replace(body, known,
        'returning u.user_id, case when u.private then ''private'' else u.status end as status, u.last_recorded_at');
end
$$;
-- +goose StatementEnd

-- +goose Down
-- +goose StatementBegin
do $$
begin
    execute replace(pg_get_functiondef('add_increments'::regproc),
        'case when u.private then ''private'' else u.status end as status', 'u.status');
end
$$;
-- +goose StatementEnd
drop table private_users;
update user_privacy set visibility = 'pseudonym' where visibility = 'private';
alter table user_privacy drop constraint user_privacy_visibility_check,
    add constraint user_privacy_visibility_check check (visibility in ('public', 'pseudonym', 'friends'));
alter table users drop column private;
