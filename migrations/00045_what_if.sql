-- Why: a what-if shows which events other rules would reject, and can be applied: exactly these
-- events are voided. Such a void has no sender but the digest of its events. They are written
-- with it, so it begins as reversing, and a daemon of the version before can carry it out.

-- +goose Up
alter table voids
    add column board_id text collate "C", -- of the what-if; null: the void of a sender
    add column digest text,               -- SHA-256 in hex of the events
    drop constraint voids_sender_check,
    add constraint voids_sender_check check (num_nonnulls(key_id, address, digest) = 1),
    add constraint voids_digest_check check ((board_id is null) = (digest is null));
-- Two operators who apply the same result at the same time start one void.
create unique index voids_digest on voids (digest) where digest is not null and state = 'reversing';

-- +goose Down
drop index voids_digest;
delete from voids where digest is not null;
alter table voids
    drop constraint voids_digest_check,
    drop constraint voids_sender_check,
    drop column digest,
    drop column board_id,
    add constraint voids_sender_check check ((key_id is null) <> (address is null));
