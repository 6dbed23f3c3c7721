-- Why: identity providers name users by ids that are no user ids here, such as auth0|5f7c or an
-- e-mail address with a plus. Such a user's id is derived from that id, which operators need to
-- recognise the user. Daemons of the version before do not know the table: of a user whom they
-- erase, the row is deleted with the name.

-- +goose Up
create table external_ids (
    user_id     text collate "C" not null,
    external_id text not null,
    created_at  timestamptz not null default now(),
    constraint external_ids_pkey primary key (user_id),
    constraint external_ids_external_id_check check (octet_length(external_id) between 1 and 255)
);

-- +goose Down
drop table external_ids;
