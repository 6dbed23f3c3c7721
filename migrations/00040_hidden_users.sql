-- Why: the board at a moment leaves out who is banned or erased now. No increment changes a
-- column of this index, so updates of users stay HOT.

-- +goose NO TRANSACTION
-- +goose Up
drop index concurrently if exists users_hidden;
create index concurrently users_hidden on users (user_id) where status in ('banned', 'erased');

-- +goose Down
drop index concurrently if exists users_hidden;
