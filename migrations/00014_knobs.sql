-- Why: operators change settings without a deployment, and every node follows. The
-- audit log has the operator, origin and reason of each change; this table has the
-- values in force.

-- +goose Up
create sequence knob_versions;
create table knobs (
    name       text collate "C" not null,
    value      text,            -- null: the deployed value
    version    bigint not null default nextval('knob_versions'),
    changed_at timestamptz not null default clock_timestamp(),
    changed_by text not null,
    constraint knobs_pkey primary key (name)
);

-- +goose Down
drop table knobs;
drop sequence knob_versions;
