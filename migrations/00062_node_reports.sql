-- Why: a node to which a backend does not answer leaves the service only if another node could
-- take its requests, which reaches that backend. Every node that is ready lists here, every
-- two seconds, which backends answer to it. The same list is in Redis, for when PostgreSQL is
-- the backend that fails. Unlogged: what it says is outdated after a crash anyway.

-- +goose Up
create unlogged table node_reports (
    node        text not null,
    roles       text[] not null,
    reaches     text[] not null,
    sequence    bigint not null,
    reported_at timestamptz not null,
    constraint node_reports_pkey primary key (node)
) with (fillfactor = 30);

-- +goose Down
drop table node_reports;
