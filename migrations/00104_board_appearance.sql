-- Why: pages show a board with a title, a description, a colour and an image. They are one document,
-- because nothing is looked up by them. An instance gets that of its board when it is created, and
-- changes with it.
--
-- Daemons of the version before show boards without it.

-- +goose Up
alter table boards
    add column appearance jsonb, -- null: none
    add constraint boards_appearance_check
        check (jsonb_typeof(appearance) = 'object' and octet_length(appearance::text) <= 8192);

-- +goose Down
alter table boards drop column appearance;
