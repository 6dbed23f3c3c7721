-- Why: a webhook that is told of the rewards of some boards reads only their grants, not those of all boards.

-- +goose NO TRANSACTION
-- +goose Up
drop index concurrently if exists reward_grants_board;
create index concurrently reward_grants_board on reward_grants (split_part(board_id, ':', 1), grant_id);

-- +goose Down
drop index concurrently if exists reward_grants_board;
