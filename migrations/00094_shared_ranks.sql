-- Why: on a board with ties = shared, users with the same score have the same rank. Standings keep
-- the order that they have on every board, which decides pages and cursors; ranks are derived from
-- it, so only final standings store them: what was announced must not depend on how it is read.
--
-- The column rank of final standings stays that of the order, and its key. A daemon of the version
-- before copies no shared ranks; one that knows them does not seal such a copy, and repeats it.

-- +goose Up
alter table boards
    add column ties text, -- null: unique
    add constraint boards_ties_check check (ties = 'shared');
alter table board_standings add column shared_rank bigint; -- null: ranks are unique

-- +goose Down
alter table board_standings drop column shared_rank;
alter table boards drop column ties;
