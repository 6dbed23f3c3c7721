package ingest

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

const (
	// producingTTL is longer than any attempt to publish. A marker that a killed process
	// has left blocks only other payloads under the same event id.
	producingTTL = time.Minute
	// producedTTL bounds how long an event is known as pending while the queue is not
	// consumed.
	producedTTL = 15 * time.Minute
)

// Marker says how far an accepted event has come that is not in the ledger yet.
type Marker struct {
	Hash [16]byte // of the payload
	// Accepted is when the increment was accepted, in microseconds.
	Accepted time.Time
	// Produced means that the queue has acknowledged the record. Without it somebody meant
	// to publish the increment, and it is not known whether that succeeded.
	Produced bool
}

// RedisMarkers implements Markers: a key for each user and event.
type RedisMarkers struct{ rdb redis.UniversalClient }

// NewRedisMarkers uses rdb, which the caller closes.
func NewRedisMarkers(rdb redis.UniversalClient) *RedisMarkers { return &RedisMarkers{rdb} }

func markerKey(user scoreboard.UserID, event scoreboard.EventID) string {
	return "sb:pending:{" + string(user) + "}:" + scoreboard.FormatUUID(event.UUID)
}

// The value of a key: a letter for the state, the hash, and the microseconds of
// Accepted in decimal.
const (
	producing = 'p'
	produced  = 'd'
	hashSize  = 16
)

func encodeMarker(state byte, in *scoreboard.Increment) string {
	hash := in.PayloadHash()
	return string(state) + string(hash[:]) + strconv.FormatInt(in.Accepted.UnixMicro(), 10)
}

func decodeMarker(v string) *Marker {
	if len(v) < 1+hashSize {
		return nil
	}
	at, err := strconv.ParseInt(v[1+hashSize:], 10, 64)
	if err != nil {
		return nil
	}
	return &Marker{
		Hash: [16]byte([]byte(v[1 : 1+hashSize])), Accepted: time.UnixMicro(at).UTC(), Produced: v[0] == produced,
	}
}

// Begin implements Markers, in one round trip.
func (m *RedisMarkers) Begin(ctx context.Context, batch []scoreboard.Increment) ([]*Marker, error) {
	before := make([]*redis.StatusCmd, len(batch))
	_, err := m.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i := range batch {
			// SET … NX GET keeps an existing value and returns it.
			key, value := markerKey(batch[i].User, batch[i].Event), encodeMarker(producing, &batch[i])
			before[i] = p.SetArgs(ctx, key, value, redis.SetArgs{Mode: "NX", Get: true, TTL: producingTTL})
		}
		return nil
	})
	if err != nil && !errors.Is(err, redis.Nil) {
		return nil, fmt.Errorf("set markers of %d events: %w", len(batch), err)
	}
	markers := make([]*Marker, len(batch))
	for i, b := range before {
		if v, err := b.Result(); err == nil {
			markers[i] = decodeMarker(v)
		}
	}
	return markers, nil
}

const (
	// The hash is compared without its state: another process may have set the marker,
	// and the increment is in the queue all the same. A key that is gone stays gone: the
	// increment is recorded already. The latest time of a confirmed attempt stays, because
	// a rejection is compared with it; one that is not confirmed may never come to a
	// rejection, and is not always earlier: clocks go back.
	confirmScript = `local v = redis.call('GET', KEYS[1])
if not v then return 0 end
local hash, at = string.sub(v, 2, 17), string.sub(v, 18)
if hash ~= ARGV[1] then return 0 end
if string.sub(v, 1, 1) ~= 'd' or tonumber(at) < tonumber(ARGV[2]) then at = ARGV[2] end
redis.call('SET', KEYS[1], 'd' .. hash .. at, 'EX', ARGV[3])
return 1`

	abortScript = `if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])`

	// A marker of a later attempt stays: that one is not decided yet.
	rejectScript = `local v = redis.call('GET', KEYS[1])
if not v or tonumber(string.sub(v, 18)) > tonumber(ARGV[1]) then return 0 end
return redis.call('DEL', KEYS[1])`
)

// Confirm implements Markers.
func (m *RedisMarkers) Confirm(ctx context.Context, batch []scoreboard.Increment) error {
	return m.forEach(ctx, "confirm", batch, func(p redis.Pipeliner, key string, in *scoreboard.Increment) {
		hash := in.PayloadHash()
		p.Eval(ctx, confirmScript, []string{key}, string(hash[:]), in.Accepted.UnixMicro(), int(producedTTL.Seconds()))
	})
}

// Abort implements Markers.
func (m *RedisMarkers) Abort(ctx context.Context, batch []scoreboard.Increment) error {
	return m.forEach(ctx, "remove", batch, func(p redis.Pipeliner, key string, in *scoreboard.Increment) {
		p.Eval(ctx, abortScript, []string{key}, encodeMarker(producing, in))
	})
}

// Recorded implements Markers.
func (m *RedisMarkers) Recorded(ctx context.Context, batch []scoreboard.Increment) error {
	return m.forEach(ctx, "clear", batch, func(p redis.Pipeliner, key string, _ *scoreboard.Increment) {
		p.Del(ctx, key)
	})
}

// Rejected implements Markers.
func (m *RedisMarkers) Rejected(ctx context.Context, batch []scoreboard.Increment) error {
	return m.forEach(ctx, "clear", batch, func(p redis.Pipeliner, key string, in *scoreboard.Increment) {
		p.Eval(ctx, rejectScript, []string{key}, in.Accepted.UnixMicro())
	})
}

// forEach queues a command for the marker of each increment, and sends all at once.
func (m *RedisMarkers) forEach(
	ctx context.Context, what string, batch []scoreboard.Increment,
	queue func(p redis.Pipeliner, key string, in *scoreboard.Increment),
) error {
	if len(batch) == 0 {
		return nil
	}
	_, err := m.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i := range batch {
			queue(p, markerKey(batch[i].User, batch[i].Event), &batch[i])
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("%s %d markers: %w", what, len(batch), err)
	}
	return nil
}

// Find implements Markers.
func (m *RedisMarkers) Find(ctx context.Context, user scoreboard.UserID, event scoreboard.EventID) (*Marker, error) {
	v, err := m.rdb.Get(ctx, markerKey(user, event)).Result()
	if errors.Is(err, redis.Nil) {
		return nil, nil //nolint:nilnil // no marker is not an error
	}
	if err != nil {
		return nil, fmt.Errorf("read the marker of event %s: %w", event.Text, err)
	}
	return decodeMarker(v), nil
}
