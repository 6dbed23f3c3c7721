package scoreboard

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"
)

// Schema is the version of the events that this build writes. It reads Schema
// and the one before.
const Schema = 1

// ErrNewerSchema says that an event was written by a later build. It must wait
// for that build; it is not malformed.
var ErrNewerSchema = errors.New("the event's schema is newer than this build")

// ChangeHeartbeat is no change: it says that everything of a shard committed
// before a time has been published.
const ChangeHeartbeat ChangeType = "heartbeat"

// Heartbeat is the relay's sign of life on a partition. It says how many of
// its kind there are, so that nobody takes some for all.
type Heartbeat struct {
	Shard, Shards         int
	Partition, Partitions int // Partition is not on the wire: it is where the heartbeat came from
	AsOf                  time.Time
}

// wireEvent is the JSON of an event (docs/events.md). reached_at and
// recorded_at are RFC 3339 with microseconds.
type wireEvent struct {
	Schema     int        `json:"schema"`
	Type       ChangeType `json:"type"`
	EventID    string     `json:"event_id"`
	Board      BoardID    `json:"board"`
	User       UserID     `json:"user_id"`
	Score      Score      `json:"score"`
	Previous   *Score     `json:"previous_score"`
	Delta      int64      `json:"delta"`
	Version    int64      `json:"version"`
	Revision   int64      `json:"revision"`
	Key        int64      `json:"order_key"`
	ReachedAt  time.Time  `json:"reached_at"`
	RecordedAt time.Time  `json:"recorded_at"`
	Hidden     bool       `json:"hidden"`

	Shard      int       `json:"shard"`
	Shards     int       `json:"shards"`
	Partitions int       `json:"partitions"`
	AsOf       time.Time `json:"as_of"`
}

const wireTime = "2006-01-02T15:04:05.999999Z07:00"

// AppendJSON writes c as an event. By hand, because the relay does it for
// every increment; no field can hold a character that JSON must escape.
func (c *Change) AppendJSON(b []byte) []byte {
	b = append(b, `{"schema":`...)
	b = strconv.AppendInt(b, Schema, 10)
	b = append(b, `,"type":"`...)
	b = append(b, c.Type...)
	b = append(b, `","event_id":"`...)
	b = append(b, FormatUUID(c.Event)...)
	b = append(b, `","board":"`...)
	b = append(b, c.Board...)
	b = append(b, `","user_id":"`...)
	b = append(b, c.User...)
	b = append(b, `","score":`...)
	b = strconv.AppendInt(b, int64(c.Score), 10)
	b = append(b, `,"previous_score":`...)
	if c.Previous != nil {
		b = strconv.AppendInt(b, int64(*c.Previous), 10)
	} else {
		b = append(b, "null"...)
	}
	b = append(b, `,"delta":`...)
	b = strconv.AppendInt(b, c.Delta, 10)
	b = append(b, `,"version":`...)
	b = strconv.AppendInt(b, c.Version, 10)
	b = append(b, `,"revision":`...)
	b = strconv.AppendInt(b, c.Revision, 10)
	b = append(b, `,"order_key":`...)
	b = strconv.AppendInt(b, c.Key, 10)
	b = append(b, `,"reached_at":"`...)
	b = c.ReachedAt.UTC().AppendFormat(b, wireTime)
	b = append(b, `","recorded_at":"`...)
	b = c.RecordedAt.UTC().AppendFormat(b, wireTime)
	b = append(b, `","hidden":`...)
	b = strconv.AppendBool(b, c.Hidden)
	return append(b, '}')
}

// AppendJSON writes h as an event.
func (h Heartbeat) AppendJSON(b []byte) []byte {
	b = append(b, `{"schema":`...)
	b = strconv.AppendInt(b, Schema, 10)
	b = append(b, `,"type":"heartbeat","shard":`...)
	b = strconv.AppendInt(b, int64(h.Shard), 10)
	b = append(b, `,"shards":`...)
	b = strconv.AppendInt(b, int64(h.Shards), 10)
	b = append(b, `,"partitions":`...)
	b = strconv.AppendInt(b, int64(h.Partitions), 10)
	b = append(b, `,"as_of":"`...)
	b = h.AsOf.UTC().AppendFormat(b, wireTime)
	return append(b, `"}`...)
}

// DecodeEvent reads an event: a change, or a heartbeat. ErrNewerSchema is told
// apart from an event that is malformed.
func DecodeEvent(value []byte) (*Change, *Heartbeat, error) {
	var w wireEvent
	d := json.NewDecoder(bytes.NewReader(value))
	if err := d.Decode(&w); err != nil {
		return nil, nil, fmt.Errorf("read an event: %w", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, nil, errors.New("read an event: something follows it")
	}
	if w.Schema > Schema {
		return nil, nil, fmt.Errorf("schema %d: %w", w.Schema, ErrNewerSchema)
	}
	if w.Schema < max(Schema-1, 1) {
		return nil, nil, fmt.Errorf("read an event: schema %d is no longer read", w.Schema)
	}
	if w.Type == ChangeHeartbeat {
		if w.Shard < 0 || w.Shard >= w.Shards || w.Partitions < 1 || w.AsOf.IsZero() {
			return nil, nil, errors.New("read a heartbeat: shard, shards, partitions and as_of must be set")
		}
		return nil, &Heartbeat{Shard: w.Shard, Shards: w.Shards, Partitions: w.Partitions, AsOf: w.AsOf}, nil
	}
	event, ok := parseUUID(w.EventID)
	_, userErr := ParseUserID(string(w.User))
	_, boardErr := ParseBoardID(string(w.Board))
	switch {
	case w.Type != ChangeScore:
		return nil, nil, fmt.Errorf("read an event: unknown type %q", w.Type)
	case !ok:
		return nil, nil, errors.New("read an event: event_id is no UUID")
	case userErr != nil || boardErr != nil:
		return nil, nil, fmt.Errorf("read an event: %w", errors.Join(userErr, boardErr))
	case !w.Score.InRange() || w.Key != int64(w.Score) && w.Key != -int64(w.Score):
		return nil, nil, fmt.Errorf("read an event: score %d with key %d is out of range", w.Score, w.Key)
	case w.Revision < 1 || w.Version < 1 || w.ReachedAt.IsZero():
		return nil, nil, errors.New("read an event: revision, version and reached_at must be set")
	}
	return &Change{
		Type: w.Type, Event: event, Board: w.Board, User: w.User, Score: w.Score, Previous: w.Previous, Delta: w.Delta,
		Version: w.Version, Revision: w.Revision, Key: w.Key, ReachedAt: w.ReachedAt, RecordedAt: w.RecordedAt, Hidden: w.Hidden,
	}, nil, nil
}
