-- Why: an operator turns the transport on one node for all. Every process that
-- relays or projects says here which ones it can work with, so that a turn that
-- one of them could not follow is refused where it is asked for. Unlogged: the
-- list is written anew each second, and after a crash nobody in it is alive.

-- +goose Up
create unlogged table carriers (
    owner       text not null,
    transports  text[] not null,
    alive_until timestamptz not null,
    constraint carriers_pkey primary key (owner)
) with (fillfactor = 30);

-- +goose Down
drop table carriers;
