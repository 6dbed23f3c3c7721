-- Why: a void reverses events, also such that counted in a period whose rewards were granted already. It
-- now takes those rewards back: an unclaimed one cannot be claimed, and a claimed one is flagged, until
-- the void is undone. void_rewards says which void did, and voids counts them for each grant, so that a
-- claim reads one row.
--
-- Daemons of the version before neither take rewards back nor look whether one was.

-- +goose Up
alter table reward_grants add column voids integer not null default 0
    constraint reward_grants_voids_check check (voids >= 0);

create table void_rewards (
    void_id  bigint not null,
    grant_id bigint not null,
    constraint void_rewards_pkey primary key (void_id, grant_id),
    constraint void_rewards_void_id_fkey foreign key (void_id) references voids,
    constraint void_rewards_grant_id_fkey foreign key (grant_id) references reward_grants on delete cascade
);
create index void_rewards_grant_id on void_rewards (grant_id);

-- +goose Down
drop table void_rewards;
alter table reward_grants drop column voids;
