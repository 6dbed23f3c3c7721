-- Why: the periods of a board can begin by a schedule, as five fields of cron in the board's time
-- zone. Its instances are named by their start in UTC. Daemons of the version before serve the
-- periods that exist, and cannot create others.

-- +goose Up
alter table boards
    add column schedule text, -- only with the period cron
    drop constraint boards_period_check,
    add constraint boards_period_check check (period in ('none', 'daily', 'weekly', 'monthly', 'season', 'cron')),
    add constraint boards_schedule_check check ((period = 'cron') = (schedule is not null));

-- +goose Down
alter table boards
    drop constraint boards_schedule_check,
    drop constraint boards_period_check,
    add constraint boards_period_check check (period in ('none', 'daily', 'weekly', 'monthly', 'season')),
    drop column schedule;
