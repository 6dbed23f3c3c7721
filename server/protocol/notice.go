package protocol

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// typeNotice is the type of every record of the notices topic.
const typeNotice = "leaderboard.notice"

// Notice is a record of the notices topic (docs/events.md): the first rows of a board
// and the users who moved since the previous notice. Its key is the board.
type Notice struct {
	Schema    int          `json:"schema"`
	Type      string       `json:"type"`
	Board     string       `json:"board"`
	Epoch     int64        `json:"epoch"`
	Version   int64        `json:"version"`
	UpdatedAt time.Time    `json:"updated_at"`
	AsOf      time.Time    `json:"as_of,omitzero"` // every change committed before it is included
	Total     int64        `json:"total"`
	Top       []wire.Entry `json:"top"` // with a subscore on boards that have them
	Moved     []Moved      `json:"moved"`
}

// Moved is a user whose standing changed.
type Moved struct {
	UserID   string `json:"user_id"`
	Score    int64  `json:"score"`
	Subscore *int64 `json:"subscore,omitempty"` // absent on boards without subscores
	Revision int64  `json:"revision"`
	Version  int64  `json:"version"`
}

// EncodeNotice encodes n, whose Top must be set.
func EncodeNotice(n *scoreboard.Notice) []byte {
	out := Notice{
		Schema: Schema, Type: typeNotice, Board: string(n.Board), Epoch: n.Top.Epoch, Version: n.Top.Version,
		UpdatedAt: scoreboard.WritableTime(n.Top.UpdatedAt), AsOf: scoreboard.WritableTime(n.Top.AsOf),
		Total: n.Top.Total, Top: make([]wire.Entry, len(n.Top.Entries)), Moved: make([]Moved, len(n.Moved)),
	}
	subscore := func(s scoreboard.Score) *int64 {
		if !n.Top.Subscores {
			return nil
		}
		return new(int64(s))
	}
	for i, e := range n.Top.Entries {
		out.Top[i] = wire.Entry{
			Rank: e.Rank, UserID: string(e.User), Score: int64(e.Score), Subscore: subscore(e.Subscore),
		}
	}
	for i, m := range n.Moved {
		out.Moved[i] = Moved{
			UserID: string(m.User), Score: int64(m.Score), Subscore: subscore(m.Subscore),
			Revision: m.Revision, Version: m.Version,
		}
	}
	b, err := json.Marshal(&out)
	if err != nil { // these types always marshal: every time can be written
		panic(err)
	}
	return b
}

// DecodeNotice decodes a notice. It returns ErrNewerSchema for one of a newer build;
// any other error means that the notice is malformed.
func DecodeNotice(value []byte) (n scoreboard.Notice, err error) {
	var in Notice
	if err := json.Unmarshal(value, &in); err != nil {
		return n, fmt.Errorf("decode a notice: %w", err)
	}
	if in.Schema > Schema {
		return n, fmt.Errorf("schema %d: %w", in.Schema, ErrNewerSchema)
	}
	if n.Board, err = scoreboard.ParseBoardID(in.Board); err != nil {
		return n, fmt.Errorf("decode a notice: %w", err)
	}
	if in.Type != typeNotice || in.Epoch < 1 || in.Version < 1 || len(in.Top) > scoreboard.TopSize ||
		!scoreboard.IsWritable(in.UpdatedAt) || !scoreboard.IsWritable(in.AsOf) {
		return n, errors.New("decode a notice: invalid type, epoch, version, updated_at, as_of or top")
	}
	n.Top = &scoreboard.Top{
		Board: n.Board, Epoch: in.Epoch, Version: in.Version, UpdatedAt: in.UpdatedAt.UTC(), AsOf: in.AsOf.UTC(),
		Total:   in.Total,
		Entries: make([]scoreboard.Entry, len(in.Top)),
	}
	subscore := func(s *int64) scoreboard.Score {
		if s == nil {
			return 0
		}
		n.Subscores, n.Top.Subscores = true, true
		return scoreboard.Score(*s)
	}
	for i, e := range in.Top {
		n.Top.Entries[i] = scoreboard.Entry{
			Rank: e.Rank, User: scoreboard.UserID(e.UserID), Score: scoreboard.Score(e.Score),
			Subscore: subscore(e.Subscore),
		}
	}
	for _, m := range in.Moved {
		n.Moved = append(n.Moved, scoreboard.Moved{
			User: scoreboard.UserID(m.UserID), Score: scoreboard.Score(m.Score), Subscore: subscore(m.Subscore),
			Revision: m.Revision, Version: m.Version,
		})
	}
	return n, nil
}
