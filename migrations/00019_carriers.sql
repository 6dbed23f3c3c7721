-- Why: an operator switches the transport on one node for all. Every process that
-- relays or projects lists here the transports that it supports, so that a switch
-- that one of them cannot follow is rejected. Unlogged: the list is rewritten every
-- second and is outdated after a crash anyway.

-- +goose Up
create unlogged table carriers (
    owner       text not null,
    transports  text[] not null,
    alive_until timestamptz not null,
    constraint carriers_pkey primary key (owner)
) with (fillfactor = 30);

-- +goose Down
drop table carriers;
