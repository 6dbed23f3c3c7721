-- Why: every key of what increments write contains the user, so that the write path can be
-- distributed by user; that of used action tokens did not. A token is of one user, who is
-- now stored with it.
--
-- Daemons of the version before store no user. Their tokens are found by the old key, which
-- a later release drops, once no token without a user is younger than the longest lifetime
-- of one.

-- +goose Up
alter table used_action_tokens add column user_id text collate "C";
create unique index used_action_tokens_user on used_action_tokens (user_id, action_id);

-- +goose Down
drop index used_action_tokens_user;
alter table used_action_tokens drop column user_id;
