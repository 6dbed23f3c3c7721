-- Why: what led to a moment before the first partition of the ledger is in the archive. On
-- request, its files are read and the standings at that moment are stored as a checkpoint,
-- which is read as any other, kept for some days, and never decides which moments are archived.
-- A daemon of the version before deletes it earlier; then the archive is read once more.

-- +goose Up
alter table checkpoints
    add column kept_until   timestamptz, -- null: made for the retention of checkpoints
    -- Block −2 has the scores that were computed without the events reversed by then; null: none.
    add column corrected_at timestamptz;

-- +goose Down
delete from checkpoints where kept_until is not null;
alter table checkpoints
    drop column corrected_at,
    drop column kept_until;
