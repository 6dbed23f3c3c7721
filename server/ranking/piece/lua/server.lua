-- server identifies the process that runs this script, and its replication history;
-- empty on a stand-in without them.
local function server()
    local function info(section, field)
        local text = redis.pcall('INFO', section)
        return type(text) == 'string' and string.match(text, '\n' .. field .. ':(%w+)') or nil
    end
    local run, replication = info('server', 'run_id'), info('replication', 'master_replid')
    return run and replication and run .. '/' .. replication or ''
end
