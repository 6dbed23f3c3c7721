package streams

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"
)

// The owner of a stream reads its group by scripts that check and renew the lease. A member
// that goes on after it has lost the lease takes nothing from its successor. And the client
// repeats a command whose answer was lost: each script does nothing that a repeat of it
// would not find again.

// luaOwned returns nil without the lease. What follows is the script's own.
const luaOwned = `
local stream, lease = KEYS[1], KEYS[2]
local group, member, ttl, count, start = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
if redis.call('GET', lease) ~= member then
    return false
end
redis.call('PEXPIRE', lease, ttl)
`

var renewScript = redis.NewScript(luaOwned + `return {{}, ''}`)

// readScript returns entries: those that are pending for the member, which it has read and
// not handled, and only without any new ones. If there are none, it returns the id of the
// last entry that the group was given.
var readScript = redis.NewScript(luaOwned + `
local function read(from)
    local found = redis.call('XREADGROUP', 'GROUP', group, member, 'COUNT', count, 'STREAMS', stream, from)
    return found and found[1][2] or {}
end
local found = read('0')
while #found > 0 do
    local entries = {}
    for _, entry in ipairs(found) do
        if entry[2] then
            table.insert(entries, entry)
        else -- trimmed
            redis.call('XACK', stream, group, entry[1])
        end
    end
    if #entries > 0 then
        return {entries, ''}
    end
    found = read('0')
end
found = read('>')
if #found > 0 then
    return {found, ''}
end
for _, info in ipairs(redis.call('XINFO', 'GROUPS', stream)) do
    local of = {}
    for i = 1, #info, 2 do
        of[info[i]] = info[i + 1]
    end
    if of['name'] == group then
        return {{}, of['last-delivered-id']}
    end
end`)

// claimScript takes over pending entries of all members from an id on, and returns them and
// the id to go on with; 0-0: none are left.
var claimScript = redis.NewScript(luaOwned + `
local found = redis.call('XAUTOCLAIM', stream, group, member, '0', start, 'COUNT', count)
return {found[2], found[1]}`)

// tidyScript removes the other members that have no pending entries. No command comes
// between the look and the removal, which would delete the entries of a member that reads.
var tidyScript = redis.NewScript(luaOwned + `
for _, info in ipairs(redis.call('XINFO', 'CONSUMERS', stream, group)) do
    local of = {}
    for i = 1, #info, 2 do
        of[info[i]] = info[i + 1]
    end
    if of['name'] ~= member and of['pending'] == 0 then
        redis.call('XGROUP', 'DELCONSUMER', stream, group, of['name'])
    end
end
return {{}, ''}`)

// errLost is in the chain of an error that means: another member may have the lease, or the
// group is gone, because Redis was flushed.
var errLost = errors.New("the lease or the group is lost")

// run runs one of the scripts, which return entries and an id.
func (r *reader) run(
	ctx context.Context, script *redis.Script, arguments ...any,
) (entries []redis.XMessage, id string, err error) {
	o := &r.c.transport.o
	arguments = append([]any{o.Group, r.c.name, leaseDuration.Milliseconds(), o.Batch}, arguments...)
	answer, err := script.Run(ctx, r.c.transport.rdb, []string{r.stream, r.leaseKey()}, arguments...).Slice()
	switch {
	case errors.Is(err, redis.Nil), redis.HasErrorPrefix(err, "NOGROUP"):
		return nil, "", fmt.Errorf("%w: %w", errLost, err)
	case err != nil:
		return nil, "", fmt.Errorf("read %s: %w", r.stream, err)
	case len(answer) != 2:
		return nil, "", fmt.Errorf("read %s: %d values, want 2", r.stream, len(answer))
	}
	found, _ := answer[0].([]any)
	for _, e := range found {
		entries = append(entries, messageOf(e))
	}
	id, _ = answer[1].(string)
	return entries, id, nil
}

// messageOf reads an entry as a script returns it: its id, and its fields and values in turn.
func messageOf(entry any) redis.XMessage {
	m := redis.XMessage{Values: make(map[string]any)}
	parts, _ := entry.([]any)
	if len(parts) != 2 {
		return m
	}
	m.ID, _ = parts[0].(string)
	fields, _ := parts[1].([]any)
	for i := 0; i+1 < len(fields); i += 2 {
		if name, ok := fields[i].(string); ok {
			m.Values[name] = fields[i+1]
		}
	}
	return m
}
