-- Why: a band of a table of rewards may be a division of a league.
--
-- Daemons of the version before read such a band as one of no rank, and grant nothing for it.

-- +goose Up
alter table reward_bands
    add column division smallint,
    drop constraint reward_bands_bound_check,
    add constraint reward_bands_bound_check check (num_nonnulls(last_rank, percent, tier, division) = 1
        and (first_rank is null) = (last_rank is null) and first_rank between 1 and last_rank
        and division between 1 and 20);

-- +goose Down
delete from reward_bands where division is not null;
alter table reward_bands
    drop column division,
    add constraint reward_bands_bound_check check (num_nonnulls(last_rank, percent, tier) = 1
        and (first_rank is null) = (last_rank is null) and first_rank between 1 and last_rank);
