package health

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// RedisReports stores the last report of each node in one hash.
type RedisReports struct{ rdb redis.Scripter }

// NewRedisReports returns the reports in Redis.
func NewRedisReports(rdb redis.Scripter) RedisReports { return RedisReports{rdb} }

// reportsKey is the hash: by node, the time in seconds and the report.
const reportsKey = "sb:nodes"

// reportTTL is how long a report is kept. Nobody acts on one that is this old.
const reportTTL = time.Minute

var exchangeReports = redis.NewScript(`
local now = tonumber(redis.call('TIME')[1])
if ARGV[1] ~= '' then
    redis.call('HSET', KEYS[1], ARGV[1], now .. ' ' .. ARGV[2])
end
local reports = {}
local all = redis.call('HGETALL', KEYS[1])
for i = 1, #all, 2 do
    local at, report = string.match(all[i + 1], '^(%d+) (.*)$')
    if at and math.abs(now - tonumber(at)) <= tonumber(ARGV[3]) then
        reports[#reports + 1] = report
    else
        redis.call('HDEL', KEYS[1], all[i])
    end
end
redis.call('EXPIRE', KEYS[1], ARGV[3])
return reports`)

// Exchange stores a node's report, unless it is nil, and returns those of all nodes.
func (r RedisReports) Exchange(
	ctx context.Context, own *scoreboard.NodeReport,
) (all []scoreboard.NodeReport, err error) {
	node, text := "", []byte(nil)
	if own != nil {
		node = own.Node
		if text, err = json.Marshal(own); err != nil {
			return nil, fmt.Errorf("encode a report: %w", err)
		}
	}
	found, err := exchangeReports.Run(
		ctx, r.rdb, []string{reportsKey}, node, text, int(reportTTL.Seconds()),
	).StringSlice()
	if err != nil {
		return nil, fmt.Errorf("exchange reports of nodes: %w", err)
	}
	for _, text := range found {
		var one scoreboard.NodeReport
		if json.Unmarshal([]byte(text), &one) == nil { // one of another version counts as none
			all = append(all, one)
		}
	}
	return all, nil
}
