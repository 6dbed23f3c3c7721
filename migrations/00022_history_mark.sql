-- Why: after a restore the write-ahead log may grow past its old position before
-- anyone looks, above all if little was lost. A mark that only checks of the history
-- increase, and only while Redis does not know a later one, cannot catch up.

-- +goose Up
create table history_mark (
    single boolean not null default true,
    mark   bigint not null,
    constraint history_mark_pkey primary key (single),
    constraint history_mark_single_check check (single)
) with (fillfactor = 30);
insert into history_mark (mark) values (1);

-- +goose Down
drop table history_mark;
