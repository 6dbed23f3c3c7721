-- Why: a user who is private and public again leaves a row in private_users, and reads of the past
-- read all rows of all users. From now on a user has at most 64 rows, which writers keep: a public
-- phase of less than a minute is merged with the private ones around it, and so are the oldest
-- phases beyond the bound. Reads of the past find the rows that begin or end between a checkpoint
-- and a moment, and those that were merged since the checkpoint was made: it can show the user.
-- user_privacy.returns has when a user lately stopped being private, of which there is a limit.
-- Daemons of the version before merge nothing and have no limit.

-- +goose Up
alter table private_users add column merged_at timestamptz;
alter table user_privacy add column returns timestamptz[] not null default '{}';

-- First short public phases, then the oldest beyond the bound. The open row of a user, of which
-- there may be one only, goes before the row that takes its place.
-- +goose StatementBegin
do $$
declare
    apart text;
begin
    foreach apart in array array['since - before >= interval ''1 minute''', 'newest < 64'] loop
        execute format($merge$create temporary table merged on commit drop as
with ordered as (
    select user_id, since, until, lag(until) over (partition by user_id order by since) as before,
        row_number() over (partition by user_id order by since desc) as newest
    from private_users
), numbered as (
    select *, count(*) filter (where before is null or %s) over (partition by user_id order by since) as period
    from ordered
)
select user_id, min(since) as since, max(since) as last, nullif(max(coalesce(until, 'infinity')), 'infinity') as until
from numbered group by user_id, period having count(*) > 1$merge$, apart);
        delete from private_users as p using merged as m
            where p.user_id = m.user_id and p.since > m.since and p.since <= m.last;
        update private_users as p set until = m.until, merged_at = clock_timestamp() from merged as m
            where p.user_id = m.user_id and p.since = m.since;
        drop table merged;
    end loop;
end
$$;
-- +goose StatementEnd

create index private_users_since on private_users (since);
create index private_users_until on private_users (until) where until is not null;
create index private_users_merged on private_users (merged_at) where merged_at is not null;

-- +goose Down
alter table user_privacy drop column returns;
drop index private_users_since, private_users_until, private_users_merged;
alter table private_users drop column merged_at;
