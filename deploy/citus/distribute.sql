-- An experiment, not a supported deployment (docs/citus.md): distributes the tables of the
-- write path over the workers of Citus, by user. Run it on the coordinator, on a schema that
-- "sbctl migrate up" has just created:
--
--     psql -v ON_ERROR_STOP=1 -f distribute.sql postgres://OWNER@COORDINATOR/scoreboard
--
-- What it drops is what Citus does not allow on distributed tables. The product needs the
-- triggers: webhooks learn of flags and boards by them, and standings of deleted scores.
drop trigger scores_standing on scores;
drop trigger flags_queue_webhook on flags;
drop trigger boards_queue_webhook on boards;
drop index flags_open; -- a partial index over the user is allowed; that on id is not
alter table flags drop constraint flags_pkey;

set citus.shard_count = 12;
set citus.shard_replication_factor = 1;
select create_reference_table('boards');
select create_reference_table('keys');
select create_distributed_table('users', 'user_id');
select create_distributed_table(t, 'user_id', colocate_with => 'users') from unnest(array['scores',
    'user_score_histories', 'outbox_score_updates', 'reversals', 'rejected_events', 'used_action_tokens', 'flags',
    'user_statuses', 'standings']) as t;
create unique index flags_open on flags (user_id, rule) where state = 'open';
