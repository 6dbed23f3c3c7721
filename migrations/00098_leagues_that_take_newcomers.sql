-- Why: while a period of a league is not decided, newcomers of the next one wait for their places. The last step of the
-- decision places those who wait, and more may come meanwhile than it places. So once all outcomes are stored, players
-- are no longer made to wait, and those who do are placed after that: a number that only falls.
--
-- Daemons of the version before take no notice, and end such a decision as they did.

-- +goose Up
alter table league_runs add column takes_newcomers boolean not null default false;

-- +goose StatementBegin
create or replace function league_ready(instance text) returns boolean
language sql stable
set enable_seqscan = off
set enable_bitmapscan = off
as $$
    select coalesce((select e.league_decided_at is not null
                or exists (select from league_runs as r where r.board_id = e.board_id and r.takes_newcomers)
            from boards as b join boards as e on e.family_id = b.family_id and e.period_end <= b.period_start
        where b.board_id = instance order by e.period_end desc limit 1), true)
$$;
-- +goose StatementEnd

-- +goose Down
-- +goose StatementBegin
create or replace function league_ready(instance text) returns boolean
language sql stable
set enable_seqscan = off
set enable_bitmapscan = off
as $$
    select coalesce((select e.league_decided_at is not null from boards as b join boards as e
            on e.family_id = b.family_id and e.period_end <= b.period_start
        where b.board_id = instance order by e.period_end desc limit 1), true)
$$;
-- +goose StatementEnd

alter table league_runs drop column takes_newcomers;
