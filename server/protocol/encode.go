package protocol

import (
	"encoding/json"
	"strconv"
	"time"
)

// AppendJSON writes r as encoding/json does, for the one answer that is
// written for every increment. No name that it holds needs escaping but the
// user's own text, which falls back to encoding/json.
func (r *Receipt) AppendJSON(b []byte) []byte {
	b = appendText(append(b, `{"user_id":`...), r.UserID)
	b = appendText(append(b, `,"board":`...), r.Board)
	b = strconv.AppendInt(append(b, `,"new_score":`...), r.NewScore, 10)
	b = appendNullable(append(b, `,"previous_score":`...), r.PreviousScore)
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
	return append(b, '}')
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
