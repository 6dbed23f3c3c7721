-- Why: ranks are counted in standings. Without this index no increment changes a column
-- of scores that is indexed. A daemon of the version before still runs, but its reads
-- without Redis sort the whole board.

-- +goose NO TRANSACTION
-- +goose Up
drop index concurrently if exists scores_ranking;

-- +goose Down
drop index concurrently if exists scores_ranking;
create index concurrently scores_ranking on scores (board_id, order_key, reached_at, user_id) where not hidden;
