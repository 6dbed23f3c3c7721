-- Why: operators turn knobs without a deploy, and every node follows. Who turned
-- what, from where and why is in the audit trail; here stands what is in force.

-- +goose Up
create sequence knob_versions;
create table knobs (
    name       text collate "C" not null,
    value      text,            -- null: as deployed
    version    bigint not null default nextval('knob_versions'),
    changed_at timestamptz not null default clock_timestamp(),
    changed_by text not null,
    constraint knobs_pkey primary key (name)
);

-- +goose Down
drop table knobs;
drop sequence knob_versions;
