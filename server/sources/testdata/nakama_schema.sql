-- The tables of Nakama's boards, as its migrations leave them.
create table leaderboard (
    id             varchar(128) not null,
    authoritative  boolean default false,
    sort_order     smallint default 1 not null,
    operator       smallint default 0 not null,
    reset_schedule varchar(64),
    metadata       jsonb default '{}' not null,
    create_time    timestamptz default now() not null,
    category       smallint default 0 not null,
    description    varchar(255) default '' not null,
    duration       int default 0 not null,
    end_time       timestamptz,
    join_required  boolean default false not null,
    max_size       int default 100000000 not null,
    max_num_score  int default 1000000 not null,
    title          varchar(255) default '' not null,
    size           int default 0 not null,
    start_time     timestamptz default now() not null,
    primary key (id)
);
create table leaderboard_record (
    leaderboard_id varchar(128) not null,
    owner_id       uuid not null,
    username       varchar(128),
    score          bigint default 0 check (score >= 0) not null,
    subscore       bigint default 0 check (subscore >= 0) not null,
    num_score      int default 1 check (num_score >= 0) not null,
    metadata       jsonb default '{}' not null,
    create_time    timestamptz default now() not null,
    update_time    timestamptz default now() not null,
    expiry_time    timestamptz default '1970-01-01 00:00:00+00' not null,
    max_num_score  int default 1000000 not null,
    primary key (leaderboard_id, expiry_time, score, subscore, owner_id),
    foreign key (leaderboard_id) references leaderboard (id) on delete cascade,
    unique (owner_id, leaderboard_id, expiry_time)
);
