-- Why: webhooks of the type reward.granted are told of each reward, a page of grants at a time, so that a million of
-- them do not fill the queue. For each such webhook, reward_messages has the last grant that it was told of. A message
-- follows from the grant, so none is lost between the two. Daemons of the version before send no such messages.

-- +goose Up
create table reward_messages (
    webhook_id text collate "C" not null,
    grant_id   bigint not null, -- told of all grants up to this one
    constraint reward_messages_pkey primary key (webhook_id),
    constraint reward_messages_webhook_id_fkey foreign key (webhook_id) references webhooks on delete cascade
) with (fillfactor = 30);

-- +goose Down
drop table reward_messages;
