-- Why: a transaction that began before a history was adopted may commit after a
-- rebuild has read its snapshot, with changes that the rebuilt board rejects as
-- lost. Rebuilds therefore wait until every transaction older than the adoption
-- has ended, which needs the id of the adopting transaction.

-- +goose Up
alter table adopted_histories add column xid xid8 not null default pg_current_xact_id();

-- +goose Down
alter table adopted_histories drop column xid;
