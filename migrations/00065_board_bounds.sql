-- Why: the bounds of a board's deltas and scores can be changed. bounds_version counts the
-- changes, from 1, so that a reader of a board can tell whether its bounds have changed since.

-- +goose Up
alter table boards add column bounds_version bigint not null default 1;

-- +goose Down
alter table boards drop column bounds_version;
