package scoreboard

import (
	"strconv"
	"time"
)

// Ending is a period that has ended, and how far its end has come.
type Ending struct {
	Board Board
	Users int64   // in its final standings, once they are sealed
	Top   []Entry // the first ten, once sealed
}

// EventID names the announcement that the period has closed: the same however
// often it is made.
func (e *Ending) EventID() EventID {
	text := "season.closed:" + string(e.Board.ID)
	return EventID{UUID: nameUUID("", text), Text: text}
}

// FinalStanding is a row of final standings.
type FinalStanding struct {
	Entry
	Key       int64
	ReachedAt time.Time
}

// AppendLine appends the line of s that the hash of final standings is over:
// rank, user, score and when it was reached in microseconds of Unix time,
// divided by tabs.
func (s *FinalStanding) AppendLine(b []byte) []byte {
	b = append(strconv.AppendInt(b, s.Rank, 10), '\t')
	b = append(append(b, s.User...), '\t')
	b = append(strconv.AppendInt(b, int64(s.Score), 10), '\t')
	return append(strconv.AppendInt(b, s.ReachedAt.UnixMicro(), 10), '\n')
}
