-- Why: a board can be larger than one server of Redis. Its ranking is then spread over
-- partitions by a hash of the user; PostgreSQL keeps it in one piece. Daemons of the version
-- before create boards in one piece, and instances copy the column from their family.

-- +goose Up
alter table boards
    add column partitions smallint not null default 1,
    add constraint boards_partitions_check check (partitions between 1 and 64);

-- +goose Down
alter table boards drop column partitions;
