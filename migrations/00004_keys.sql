-- Why: the keys that sign requests. Secrets are sealed with a master key from the
-- environment and cannot be read here; a key has several secrets during a
-- rotation.

-- +goose Up
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
create table key_secrets (
    key_id     text collate "C" not null,
    generation integer not null,
    sealed     bytea not null,
    created_at timestamptz not null default clock_timestamp(),
    retires_at timestamptz,
    constraint key_secrets_pkey primary key (key_id, generation),
    constraint key_secrets_key_id_fkey foreign key (key_id) references keys on delete cascade
);

-- +goose Down
drop table key_secrets;
drop table keys;
