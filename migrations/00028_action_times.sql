-- Why: a player can start any number of actions at once. Each token alone has its
-- minimum duration, but all of them pass after the first. The end of the last one is
-- kept with the player's score, and the next one can only begin there.

-- +goose Up
alter table scores add column action_until timestamptz; -- null: no action with a minimum duration

-- +goose Down
alter table scores drop column action_until;
