package realtime

import (
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/protocol"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Message is one message, encoded once for all its connections.
type Message struct {
	Kind    string
	ID      string // epoch:version of a state; "" for other messages
	JSON    []byte
	RetryMS int64 // delay after which an EventSource reconnects; 0 for none

	trace   *messageTrace // nil: it shows no traced change
	sent    [encodings]prometheus.Counter
	encoded [encodings]struct {
		once  sync.Once
		bytes []byte
	}
}

// Encoding is a transport's form of a message.
type Encoding uint8

// The encodings.
const (
	WebSocket Encoding = iota
	SSE
	encodings
)

// Encoded returns f as encode makes it, once for all callers.
func (f *Message) Encoded(as Encoding, encode func(*Message) []byte) []byte {
	e := &f.encoded[as]
	e.once.Do(func() { e.bytes = encode(f) })
	return e.bytes
}

// NewMessage encodes v, which must always marshal: every time in it is a
// scoreboard.WritableTime.
func NewMessage(kind string, v any) *Message {
	b, err := json.Marshal(v)
	if err != nil {
		panic("realtime: encode " + kind + ": " + err.Error())
	}
	return &Message{Kind: kind, JSON: b}
}

// Native is the format of the native API.
var Native = &Format{
	State: func(v *StateView) *Message {
		head := nativeHead(wire.MessageUpdated, v)
		return NewMessage(head.Type, updatedMessage{head, protocol.EntriesOf(v.Subscores, v.Rows)})
	},
	Delta: func(v *StateView, before []scoreboard.Entry, base int64) *Message {
		head := nativeHead(wire.MessageDelta, v)
		changed, removed := difference(before, v)
		return NewMessage(head.Type, deltaMessage{head, base, changed, removed})
	},
	Rank: func(v *RankView) *Message {
		return NewMessage(wire.MessageRank, rankMessage{
			Type: wire.MessageRank, Board: string(v.Board), UserID: string(v.User),
			Score: int64(v.Score), Subscore: (*int64)(v.Subscore), Rank: v.Rank, PreviousRank: v.Previous,
			Version: v.Version, Epoch: v.Epoch, TS: v.TS,
		})
	},
	Tier: func(v *TierView) *Message {
		return NewMessage(wire.MessageTier, tierMessage{
			Type: wire.MessageTier, Board: string(v.Board), UserID: string(v.User),
			Tier: v.Tier, PreviousTier: v.PreviousTier,
			Score: int64(v.Score), Subscore: (*int64)(v.Subscore), Rank: v.Rank,
			Version: v.Version, Epoch: v.Epoch, TS: v.TS,
		})
	},
	Friends: func(v *FriendsView) *Message {
		return NewMessage(wire.MessageFriends, friendsMessage{
			Type: wire.MessageFriends, Board: string(v.Board), UserID: string(v.User),
			Version: v.Version, Epoch: v.Epoch, TS: v.TS, Friends: listOf(v),
		})
	},
	Cohort: func(v *CohortView) *Message {
		m := cohortMessage{
			Type: wire.MessageCohort, Board: string(v.Board), UserID: string(v.User),
			Version: v.Version, Epoch: v.Epoch, TS: v.TS,
		}
		if v.Cohort != 0 {
			m.Cohort = &wire.CohortState{
				ID: v.Cohort, Division: v.Division, Entries: protocol.EntriesOf(v.Subscores, v.Rows),
			}
		}
		return NewMessage(wire.MessageCohort, m)
	},
	Bye: func(reason string, reconnect time.Duration) *Message {
		ms := reconnect.Milliseconds()
		f := NewMessage(wire.MessageBye, byeMessage{Type: wire.MessageBye, Reason: reason, ReconnectAfterMS: ms})
		f.RetryMS = ms
		return f
	},
	Error:    newError,
	Commands: true,
}

func nativeHead(kind string, v *StateView) stateHead {
	return stateHead{
		Type: kind, Board: string(v.Board), Version: v.Version, Epoch: v.Epoch, TS: v.TS,
		Degraded: v.Degraded != "", DegradedReason: v.Degraded, BoardState: string(v.Doubt),
		WindowMS: v.Window.Milliseconds(),
	}
}

func newError(err error, board scoreboard.BoardID) *Message {
	known := &scoreboard.Error{Code: wire.CodeInternal, Message: "internal error"}
	_ = errors.As(err, &known)
	e := protocol.NewError(known)
	return NewMessage(wire.MessageError, errorMessage{
		Type: wire.MessageError, ErrorCode: e.ErrorCode, Message: e.Message, Field: e.Field, Board: string(board),
	})
}

// eventID is the id of a state; that of one that is not resumable is never current.
func eventID(epoch, version int64, resumable bool) string {
	if !resumable {
		return "0:0"
	}
	return strconv.FormatInt(epoch, 10) + ":" + strconv.FormatInt(version, 10)
}

// The messages as they are written. Unlike in wire.Message, the fields of a type
// are always present, an empty board as "top":[].
type (
	stateHead struct {
		Type           string    `json:"type"`
		Board          string    `json:"board"`
		Version        int64     `json:"version"`
		Epoch          int64     `json:"epoch"`
		TS             time.Time `json:"ts"`
		Degraded       bool      `json:"degraded,omitempty"`
		DegradedReason string    `json:"degraded_reason,omitempty"`
		BoardState     string    `json:"board_state,omitempty"` // absent if it is HEALTHY
		WindowMS       int64     `json:"window_ms,omitempty"`
	}
	updatedMessage struct {
		stateHead
		Top []wire.Entry `json:"top"`
	}
	deltaMessage struct {
		stateHead
		Base    int64        `json:"base"`
		Changed []wire.Entry `json:"changed"`
		Removed []string     `json:"removed"`
	}
	rankMessage struct {
		Type         string    `json:"type"`
		Board        string    `json:"board"`
		UserID       string    `json:"user_id"`
		Score        int64     `json:"score"`
		Subscore     *int64    `json:"subscore,omitempty"` // absent on boards without subscores
		Rank         int64     `json:"rank"`
		PreviousRank *int64    `json:"previous_rank,omitempty"` // absent if unknown
		Version      int64     `json:"version,omitempty"`       // the user's; absent until the user moved
		Epoch        int64     `json:"epoch"`
		TS           time.Time `json:"ts"`
	}
	tierMessage struct {
		Type         string    `json:"type"`
		Board        string    `json:"board"`
		UserID       string    `json:"user_id"`
		Tier         string    `json:"tier,omitempty"`          // absent for none
		PreviousTier string    `json:"previous_tier,omitempty"` // absent for none
		Score        int64     `json:"score"`
		Subscore     *int64    `json:"subscore,omitempty"` // absent on boards without subscores
		Rank         int64     `json:"rank"`
		Version      int64     `json:"version,omitempty"` // the user's; absent until the user moved
		Epoch        int64     `json:"epoch"`
		TS           time.Time `json:"ts"`
	}
	friendsMessage struct {
		Type    string           `json:"type"`
		Board   string           `json:"board"`
		UserID  string           `json:"user_id"`
		Version int64            `json:"version"`
		Epoch   int64            `json:"epoch"`
		TS      time.Time        `json:"ts"`
		Friends []wire.ListEntry `json:"friends"`
	}
	cohortMessage struct {
		Type    string            `json:"type"`
		Board   string            `json:"board"`
		UserID  string            `json:"user_id"`
		Version int64             `json:"version"`
		Epoch   int64             `json:"epoch"`
		TS      time.Time         `json:"ts"`
		Cohort  *wire.CohortState `json:"cohort,omitempty"` // absent for none
	}
	byeMessage struct {
		Type             string `json:"type"`
		Reason           string `json:"reason"`
		ReconnectAfterMS int64  `json:"reconnect_after_ms"`
	}
	errorMessage struct {
		Type      string `json:"type"`
		ErrorCode string `json:"error_code"`
		Message   string `json:"message"`
		Field     string `json:"field,omitempty"`
		Board     string `json:"board,omitempty"`
	}
)

// difference returns the entries that are new or changed since before, and the
// users that are gone.
func difference(before []scoreboard.Entry, v *StateView) (changed []wire.Entry, removed []string) {
	was := make(map[scoreboard.UserID]scoreboard.Entry, len(before))
	for _, e := range before {
		was[e.User] = e
	}
	rows := make([]scoreboard.Entry, 0, len(v.Rows))
	for _, e := range v.Rows {
		if old, ok := was[e.User]; !ok || old != e {
			rows = append(rows, e)
		}
		delete(was, e.User)
	}
	removed = make([]string, 0, len(was))
	for user := range was {
		removed = append(removed, string(user))
	}
	slices.Sort(removed)
	return protocol.EntriesOf(v.Subscores, rows), removed
}

// listOf returns the rows of a list of friends.
func listOf(v *FriendsView) []wire.ListEntry {
	list := protocol.ListEntries(v.Rows, v.SharedRanks)
	for i, e := range protocol.EntriesOf(v.Subscores, v.Rows) {
		list[i].Subscore = e.Subscore
	}
	return list
}
