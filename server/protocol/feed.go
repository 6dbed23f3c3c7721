package protocol

import (
	"strconv"
	"time"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// AppendNumericID appends a user's id as a JSON number where it is a decimal integer
// below 2^53 without leading zeros, else as a string: specification E has numeric ids.
func AppendNumericID(b []byte, user scoreboard.UserID) []byte {
	n, err := strconv.ParseUint(string(user), 10, 64)
	if err == nil && n <= scoreboard.MaxScore && strconv.FormatUint(n, 10) == string(user) {
		return append(b, user...)
	}
	b = append(b, '"')
	b = append(b, user...) // no character of an id needs escaping
	return append(b, '"')
}

// AppendScoreEvent appends c as specification E's topic of scores has it (docs/feeds.md).
// Its version is the revision: that of the ledger does not tell a ban from the score
// before it.
func AppendScoreEvent(b []byte, c *scoreboard.Change) []byte {
	b = append(b, `{"userId":`...)
	b = AppendNumericID(b, c.User)
	b = append(b, `,"score":`...)
	b = strconv.AppendInt(b, int64(c.Score), 10)
	b = append(b, `,"version":`...)
	b = strconv.AppendInt(b, c.Revision, 10)
	b = append(b, `,"updatedAt":"`...)
	b = scoreboard.WritableTime(c.RecordedAt).AppendFormat(b, eventTime)
	return append(b, `"}`...)
}

// AppendHighscoreEvent appends c as specification B's topic of scores has it (docs/feeds.md).
func AppendHighscoreEvent(b []byte, c *scoreboard.Change) []byte {
	b = append(b, `{"player_id":"`...)
	b = append(b, c.User...) // no character of an id needs escaping
	b = append(b, `","score":`...)
	b = strconv.AppendInt(b, int64(c.Score), 10)
	b = append(b, `,"ts":"`...)
	b = scoreboard.WritableTime(c.RecordedAt).AppendFormat(b, eventTime)
	return append(b, `"}`...)
}

// The attributes that are the same in every CloudEvent.
const (
	cloudEventType = "com.github.scoreboard.score.changed"
	// CloudEventContentType is the content type of a CloudEvent in the structured mode.
	CloudEventContentType = "application/cloudevents+json; charset=UTF-8"
)

// CloudEventKey is the key of a change among CloudEvents: a user on a board.
func CloudEventKey(c *scoreboard.Change) string { return string(c.Board) + "/" + string(c.User) }

// AppendCloudEvent appends c as a CloudEvent 1.0 in JSON, in the structured mode. Its data
// is the event of AppendEvent. Its id is the same each time that the change is published.
func AppendCloudEvent(b []byte, c *scoreboard.Change) []byte {
	b = append(b, `{"specversion":"1.0","type":"`+cloudEventType+`","source":"/v1/boards/`...)
	b = append(b, c.Board...)
	b = append(b, `","id":"`...)
	b = append(b, c.User...)
	b = append(b, '/')
	b = strconv.AppendInt(b, c.Revision, 10)
	b = append(b, '/')
	b = append(b, scoreboard.FormatUUID(c.Event)...)
	b = append(b, `","subject":"`...)
	b = append(b, c.User...)
	b = append(b, `","time":"`...)
	b = scoreboard.WritableTime(c.RecordedAt).AppendFormat(b, eventTime)
	b = append(b, `","partitionkey":"`...)
	b = append(b, CloudEventKey(c)...)
	b = append(b, `","datacontenttype":"application/json","data":`...)
	b = AppendEvent(b, c)
	return append(b, '}')
}

// FormatTime formats a time as events have it.
func FormatTime(t time.Time) string { return scoreboard.WritableTime(t).Format(eventTime) }
