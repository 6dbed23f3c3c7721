-- Why: a board has tiers: named bands of its standings, such as gold for the first ten. An
-- instance gets those of its board when it is created, and keeps them once it has ended. What a
-- standing is in follows from its rank and score, so nothing else is stored.
--
-- Webhooks are told when a user's own event has moved the user to another tier. What has moved is
-- read from the outbox, behind a cursor of its own, and only while a webhook asks for it.
--
-- Daemons of the version before read neither.

-- +goose Up
alter table boards
    add column tiers jsonb, -- the best first; null: none
    add constraint boards_tiers_check check (jsonb_typeof(tiers) = 'array' and jsonb_array_length(tiers) between 1 and 20);

create table tier_state (
    single     boolean not null default true,
    cluster    text,        -- whose transaction ids the cursor has; null: nobody has asked yet
    cursor_xid xid8 not null default '0', -- webhooks were told of all transactions below
    passed_at  timestamptz not null default '-infinity',
    constraint tier_state_pkey primary key (single),
    constraint tier_state_single_check check (single)
) with (fillfactor = 30);
insert into tier_state default values;

-- +goose Down
drop table tier_state;
alter table boards drop column tiers;
