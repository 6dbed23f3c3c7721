package wire

import (
	"bytes"
	"encoding/json"
	"strconv"
	"time"
)

// AppendJSON appends r as encoding/json would encode it. Receipts and reads are the
// hot paths of the API, hence the hand-written encoders of this file. Only users' own
// texts can need escaping; those fall back to encoding/json.
func (r *Receipt) AppendJSON(b []byte) []byte {
	b = appendText(append(b, `{"user_id":`...), r.UserID)
	b = appendText(append(b, `,"board":`...), r.Board)
	b = strconv.AppendInt(append(b, `,"new_score":`...), r.NewScore, 10)
	b = appendNullable(append(b, `,"previous_score":`...), r.PreviousScore)
	b = appendOptional(b, `,"new_subscore":`, r.NewSubscore)
	b = appendOptional(b, `,"previous_subscore":`, r.PreviousSubscore)
	b = appendNullable(append(b, `,"rank":`...), r.Rank)
	b = strconv.AppendInt(append(b, `,"version":`...), r.Version, 10)
	b = appendText(append(b, `,"processed_event_id":`...), r.ProcessedEventID)
	b = strconv.AppendInt(append(b, `,"applied":`...), r.Applied, 10)
	b = strconv.AppendBool(append(b, `,"replayed":`...), r.Replayed)
	if r.Reversed {
		b = append(b, `,"reversed":true`...)
	}
	b = r.RecordedAt.AppendFormat(append(b, `,"recorded_at":"`...), time.RFC3339Nano)
	b = appendText(append(b, `","status":`...), r.Status)
	for i := range r.Matched {
		if i == 0 {
			b = append(b, `,"matched":[`...)
		} else {
			b = append(b, ',')
		}
		b = r.Matched[i].AppendJSON(b)
	}
	if len(r.Matched) > 0 {
		b = append(b, ']')
	}
	return append(b, '}')
}

// AppendJSON appends e as encoding/json would encode it.
func (e *Entry) AppendJSON(b []byte) []byte {
	b = strconv.AppendInt(append(b, `{"rank":`...), e.Rank, 10)
	b = appendText(append(b, `,"user_id":`...), e.UserID)
	b = strconv.AppendInt(append(b, `,"score":`...), e.Score, 10)
	b = appendOptional(b, `,"subscore":`, e.Subscore)
	if e.DisplayName != "" {
		b = appendText(append(b, `,"display_name":`...), e.DisplayName)
	}
	if e.AvatarURL != "" {
		b = appendText(append(b, `,"avatar_url":`...), e.AvatarURL)
	}
	if e.Private {
		b = append(b, `,"private":true`...)
	}
	b = appendObject(b, e.Metadata)
	return append(b, '}')
}

func appendEntries(b []byte, entries []Entry) []byte {
	b = append(b, '[')
	for i := range entries {
		if i > 0 {
			b = append(b, ',')
		}
		b = entries[i].AppendJSON(b)
	}
	return append(b, ']')
}

// AppendAround appends t as encoding/json would encode it, in two parts without the
// number of age_ms between them: the parts are the same for all reads of one version
// of a board.
func (t *Top) AppendAround(b []byte) (before, after []byte) {
	b = appendText(append(b, `{"board":`...), t.Board)
	b = appendEntries(append(b, `,"entries":`...), t.Entries)
	b = strconv.AppendInt(append(b, `,"total":`...), t.Total, 10)
	b = t.UpdatedAt.AppendFormat(append(b, `,"updated_at":"`...), time.RFC3339Nano)
	b = t.AsOf.AppendFormat(append(b, `","as_of":"`...), time.RFC3339Nano)
	before = append(b, `","age_ms":`...)
	a := appendNullable(append([]byte(nil), `,"version":`...), t.Version)
	a = appendNullable(append(a, `,"epoch":`...), t.Epoch)
	a = appendDegraded(a, t.Degraded, t.DegradedReason, t.BoardState)
	if t.NextCursor != "" {
		a = appendText(append(a, `,"next_cursor":`...), t.NextCursor)
	}
	return before, append(a, '}')
}

func appendDegraded(b []byte, degraded bool, reason, state string) []byte {
	b = strconv.AppendBool(append(b, `,"degraded":`...), degraded)
	if reason != "" {
		b = appendText(append(b, `,"degraded_reason":`...), reason)
	}
	if state != "" {
		b = appendText(append(b, `,"board_state":`...), state)
	}
	return b
}

// AppendJSON appends p as encoding/json would encode it.
func (p *Place) AppendJSON(b []byte) []byte {
	b = appendText(append(b, `{"board":`...), p.Board)
	b = appendText(append(b, `,"user_id":`...), p.UserID)
	b = strconv.AppendInt(append(b, `,"score":`...), p.Score, 10)
	b = appendOptional(b, `,"subscore":`, p.Subscore)
	b = strconv.AppendInt(append(b, `,"rank":`...), p.Rank, 10)
	b = strconv.AppendInt(append(b, `,"total":`...), p.Total, 10)
	// A percentile is never so small that encoding/json would use an exponent.
	b = strconv.AppendFloat(append(b, `,"percentile":`...), p.Percentile, 'f', -1, 64)
	b = appendNullable(append(b, `,"version":`...), p.Version)
	b = appendNullable(append(b, `,"epoch":`...), p.Epoch)
	b = p.UpdatedAt.AppendFormat(append(b, `,"updated_at":"`...), time.RFC3339Nano)
	b = p.AsOf.AppendFormat(append(b, `","as_of":"`...), time.RFC3339Nano)
	b = strconv.AppendInt(append(b, `","age_ms":`...), p.AgeMS, 10)
	b = appendDegraded(b, p.Degraded, p.DegradedReason, p.BoardState)
	if len(p.Neighbours) > 0 {
		b = appendEntries(append(b, `,"neighbours":`...), p.Neighbours)
	}
	if p.Private {
		b = append(b, `,"private":true`...)
	}
	b = appendOptional(b, `,"attempts_left":`, p.AttemptsLeft)
	b = appendTime(b, `,"ends_at":"`, p.EndsAt)
	b = appendTime(b, `,"next_reset":"`, p.NextReset)
	if p.Tier != "" {
		b = appendText(append(b, `,"tier":`...), p.Tier)
	}
	if p.NextTier != nil {
		b = p.NextTier.AppendJSON(append(b, `,"next_tier":`...))
	}
	b = appendObject(b, p.Metadata)
	return append(b, '}')
}

// AppendJSON appends t as encoding/json would encode it.
func (t *NextTier) AppendJSON(b []byte) []byte {
	b = appendText(append(b, `{"name":`...), t.Name)
	if t.Ranks != 0 {
		b = strconv.AppendInt(append(b, `,"ranks":`...), t.Ranks, 10)
	}
	if t.Points != 0 {
		b = strconv.AppendInt(append(b, `,"points":`...), t.Points, 10)
	}
	return append(b, '}')
}

// appendOptional appends an optional field; nothing for nil.
func appendOptional(b []byte, name string, v *int64) []byte {
	if v == nil {
		return b
	}
	return strconv.AppendInt(append(b, name...), *v, 10)
}

// appendTime appends an optional field; nothing for nil.
func appendTime(b []byte, name string, t *time.Time) []byte {
	if t == nil {
		return b
	}
	return append(t.AppendFormat(append(b, name...), time.RFC3339Nano), '"')
}

// appendObject appends optional metadata as encoding/json would.
func appendObject(b []byte, o Object) []byte {
	if o == "" {
		return b
	}
	var escaped bytes.Buffer
	json.HTMLEscape(&escaped, []byte(o))
	return append(append(b, `,"metadata":`...), escaped.Bytes()...)
}

func appendNullable(b []byte, v *int64) []byte {
	if v == nil {
		return append(b, "null"...)
	}
	return strconv.AppendInt(b, *v, 10)
}

func appendText(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= 0x7f || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			quoted, err := json.Marshal(s)
			if err != nil {
				panic(err) // a string always marshals
			}
			return append(b, quoted...)
		}
	}
	b = append(append(b, '"'), s...)
	return append(b, '"')
}
