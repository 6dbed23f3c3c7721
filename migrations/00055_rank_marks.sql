-- Why: best rank, days in the top 10 and biggest climb of all time cannot be read from the
-- ledger: each rank takes the standings of everyone. The process that makes checkpoints reads
-- the first 1,000 ranks of each board once an hour, and keeps here what stands out. Daemons of
-- the version before do not know these tables: of a user whom they erase, the marks are deleted
-- with the name.

-- +goose Up
create table rank_samples (
    board_id   text collate "C" not null,
    hour       timestamptz not null,         -- the last hour that was dealt with
    sampled_at timestamptz,                  -- the last hour at which ranks were read; null: never
    since      timestamptz,                  -- the first one
    constraint rank_samples_pkey primary key (board_id)
);

create table rank_marks (
    board_id       text collate "C" not null,
    user_id        text collate "C" not null,
    best_rank      bigint not null,
    best_rank_at   timestamptz not null,     -- the first sample with it
    days_in_top_10 bigint not null,
    last_top_10    date,                     -- the last day counted, in UTC
    last_rank      bigint not null,
    last_at        timestamptz not null,     -- the last sample with the user
    climb_from     bigint,                   -- ranks of the biggest climb; null: none
    climb_to       bigint,
    climb_began_at timestamptz,
    climb_ended_at timestamptz,
    constraint rank_marks_pkey primary key (board_id, user_id),
    constraint rank_marks_user_id_fkey foreign key (user_id) references users on delete cascade
) with (fillfactor = 70);
create index rank_marks_user on rank_marks (user_id);

-- +goose Down
drop table rank_marks;
drop table rank_samples;
