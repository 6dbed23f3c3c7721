-- Why: boards of other systems can be imported, again and again, without counting a point
-- twice. import_scores has what an import has written for each user, whatever the window in
-- which repeats are recognized; the difference to it is what an import writes.

-- +goose Up
create table imports (
    import_id  bigint generated always as identity,
    source     text collate "C" not null,  -- the name of the other system's board
    board_id   text collate "C" not null,
    users      bigint not null default 0,  -- rows of import_scores
    events     bigint not null default 0,  -- ledger rows
    started_at timestamptz not null default clock_timestamp(), -- last
    last_at    timestamptz not null default clock_timestamp(), -- of the last ledger row
    constraint imports_pkey primary key (import_id),
    constraint imports_source_key unique (source, board_id)
) with (fillfactor = 50);

-- A change of one row finds it by the user, whose row is locked. Users are erased by it.
create table import_scores (
    user_id   text collate "C" not null,
    import_id bigint not null,
    score     bigint not null,  -- the user's in the other system
    changes   integer not null, -- how often the import has written the user: the number of its last event
    constraint import_scores_pkey primary key (user_id, import_id)
) with (fillfactor = 90);

-- +goose Down
drop table import_scores;
drop table imports;
