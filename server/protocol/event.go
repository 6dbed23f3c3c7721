package protocol

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Schema is the version of the events that this build writes. It reads that version
// and the previous one.
const Schema = 1

// ErrNewerSchema means that a newer build wrote an event. The event is not malformed
// and must wait for that build.
var ErrNewerSchema = errors.New("the schema is newer than this build")

// typeHeartbeat is the type of an event without a change: everything of a shard that
// was committed before its time has been published.
const typeHeartbeat = "heartbeat"

const eventTime = "2006-01-02T15:04:05.999999Z07:00"

// AppendEvent appends c as an event (docs/events.md). It is written by hand because
// the relay encodes every increment; no field can hold a character that JSON must
// escape.
func AppendEvent(b []byte, c *scoreboard.Change) []byte {
	b = append(b, `{"schema":`...)
	b = strconv.AppendInt(b, Schema, 10)
	b = append(b, `,"type":"`...)
	b = append(b, c.Type...)
	b = append(b, `","event_id":"`...)
	b = append(b, scoreboard.FormatUUID(c.Event)...)
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
	if c.Subscore != 0 { // a change does not say whether its board has subscores
		b = append(b, `,"subscore":`...)
		b = strconv.AppendInt(b, int64(c.Subscore), 10)
		b = append(b, `,"sub_key":`...)
		b = strconv.AppendInt(b, c.SubKey, 10)
	}
	b = append(b, `,"reached_at":"`...)
	b = scoreboard.WritableTime(c.ReachedAt).AppendFormat(b, eventTime)
	b = append(b, `","recorded_at":"`...)
	b = scoreboard.WritableTime(c.RecordedAt).AppendFormat(b, eventTime)
	b = append(b, `","hidden":`...)
	b = strconv.AppendBool(b, c.Hidden)
	return append(b, '}')
}

// AppendHeartbeat appends h as an event.
func AppendHeartbeat(b []byte, h scoreboard.Heartbeat) []byte {
	b = append(b, `{"schema":`...)
	b = strconv.AppendInt(b, Schema, 10)
	b = append(b, `,"type":"heartbeat","shard":`...)
	b = strconv.AppendInt(b, int64(h.Shard), 10)
	b = append(b, `,"shards":`...)
	b = strconv.AppendInt(b, int64(h.Shards), 10)
	b = append(b, `,"partitions":`...)
	b = strconv.AppendInt(b, int64(h.Partitions), 10)
	b = append(b, `,"as_of":"`...)
	b = scoreboard.WritableTime(h.AsOf).AppendFormat(b, eventTime)
	return append(b, `"}`...)
}

// event is a decoded event before it is validated.
type event struct {
	schema                    int64
	kind, id, board, user     string
	change                    scoreboard.Change
	previous                  scoreboard.Score
	shard, shards, partitions int64
	reached, recorded, asOf   string
}

// DecodeEvent decodes an event: a change, or a heartbeat. It returns ErrNewerSchema for
// an event of a newer build; any other error means that the event is malformed. It is
// written by hand because the projection decodes every increment. Unknown fields are
// ignored.
func DecodeEvent(value []byte) (*scoreboard.Change, *scoreboard.Heartbeat, error) {
	var e event
	s := scanner{b: value, anyText: true}
	err := s.object(func(name []byte) error { return e.field(&s, name) })
	if err == nil {
		if s.space(); s.i < len(s.b) {
			err = errors.New("unexpected data after the JSON object")
		}
	}
	if err != nil {
		return nil, nil, fmt.Errorf("decode an event: %w", err)
	}
	if e.schema > Schema {
		return nil, nil, fmt.Errorf("schema %d: %w", e.schema, ErrNewerSchema)
	}
	if e.schema < max(Schema-1, 1) {
		return nil, nil, fmt.Errorf("decode an event: schema %d is no longer supported", e.schema)
	}
	if e.kind == typeHeartbeat {
		at, err := scoreboard.ParseTime(e.asOf)
		if err != nil || e.shard < 0 || e.shard >= e.shards || e.partitions < 1 || at.IsZero() {
			return nil, nil, errors.New("decode a heartbeat: invalid shard, shards, partitions or as_of")
		}
		return nil, &scoreboard.Heartbeat{
			Shard: int(e.shard), Shards: int(e.shards), Partitions: int(e.partitions), AsOf: at,
		}, nil
	}
	c, err := e.validate()
	if err != nil {
		return nil, nil, fmt.Errorf("decode an event: %w", err)
	}
	return c, nil, nil
}

func (e *event) field(s *scanner, name []byte) (err error) {
	c := &e.change
	switch string(name) {
	case "schema":
		e.schema, err = s.number("schema")
	case "type":
		e.kind, err = s.text("type")
	case "event_id":
		e.id, err = s.text("event_id")
	case "board":
		e.board, err = s.text("board")
	case "user_id":
		e.user, err = s.text("user_id")
	case "score":
		var n int64
		n, err = s.number("score")
		c.Score = scoreboard.Score(n)
	case "previous_score":
		if s.literal("null") {
			return nil
		}
		var n int64
		n, err = s.number("previous_score")
		e.previous = scoreboard.Score(n)
		c.Previous = &e.previous
	case "delta":
		c.Delta, err = s.number("delta")
	case "version":
		c.Version, err = s.number("version")
	case "revision":
		c.Revision, err = s.number("revision")
	case "order_key":
		c.Key, err = s.number("order_key")
	case "subscore":
		var n int64
		n, err = s.number("subscore")
		c.Subscore = scoreboard.Score(n)
	case "sub_key":
		c.SubKey, err = s.number("sub_key")
	case "reached_at":
		e.reached, err = s.text("reached_at")
	case "recorded_at":
		e.recorded, err = s.text("recorded_at")
	case "hidden":
		if c.Hidden = s.literal("true"); !c.Hidden && !s.literal("false") {
			err = errors.New("hidden must be true or false")
		}
	case "shard":
		e.shard, err = s.number("shard")
	case "shards":
		e.shards, err = s.number("shards")
	case "partitions":
		e.partitions, err = s.number("partitions")
	case "as_of":
		e.asOf, err = s.text("as_of")
	default:
		err = s.skip(string(name), 0)
	}
	return err
}

// validate returns the change, or an error if it is malformed.
func (e *event) validate() (*scoreboard.Change, error) {
	c := &e.change
	id, err := scoreboard.ParseUUID(e.id)
	if err != nil || strings.ToLower(e.id) != e.id {
		return nil, errors.New("event_id must be a canonical UUID")
	}
	if c.User, err = scoreboard.ParseUserID(e.user); err != nil {
		return nil, err
	}
	if c.Board, err = scoreboard.ParseBoardID(e.board); err != nil {
		return nil, err
	}
	if c.ReachedAt, err = scoreboard.ParseTime(e.reached); err != nil {
		return nil, fmt.Errorf("reached_at: %w", err)
	}
	if c.RecordedAt, err = scoreboard.ParseTime(e.recorded); err != nil {
		return nil, fmt.Errorf("recorded_at: %w", err)
	}
	c.Event, c.Type = id, scoreboard.ChangeType(e.kind)
	switch {
	case c.Type != scoreboard.ChangeScore:
		return nil, fmt.Errorf("unknown type %q", e.kind)
	case !c.Score.InRange() || c.Key != int64(c.Score) && c.Key != -int64(c.Score):
		return nil, fmt.Errorf("score %d with key %d is out of range", c.Score, c.Key)
	case !c.Subscore.InRange() || c.SubKey != int64(c.Subscore) && c.SubKey != -int64(c.Subscore):
		return nil, fmt.Errorf("subscore %d with key %d is out of range", c.Subscore, c.SubKey)
	case c.Revision < 1 || c.Version < 1:
		return nil, errors.New("revision and version must be at least 1")
	}
	return c, nil
}
