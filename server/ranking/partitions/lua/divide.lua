-- divide says that a board is in partitions, by strings where a board in one piece has
-- its facts, its sorted set and its states: every script that expects those fails there.
local function divide(meta, rank, users, partitions)
    redis.call('UNLINK', meta, rank, users)
    for _, key in ipairs({ meta, rank, users }) do
        redis.call('SET', key, partitions)
    end
end
