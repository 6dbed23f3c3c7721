package realtime

import (
	"encoding/json"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/scoreboard/scoreboard/server/protocol"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// frame is one encoded message, shared by every connection it goes to. What a
// transport puts around the JSON is made once too, by the first to need it.
type frame struct {
	kind  string
	id    string // epoch:version of a state; "" for other frames
	json  []byte
	retry int64 // ms that an EventSource waits before it comes back; 0 says nothing

	wsOnce  sync.Once
	ws      []byte
	sseOnce sync.Once
	sse     []byte
}

// newFrame encodes v. The structs below cannot be refused by the encoder.
func newFrame(kind string, v any) *frame {
	b, err := json.Marshal(v)
	if err != nil {
		panic("realtime: encode " + kind + ": " + err.Error())
	}
	return &frame{kind: kind, json: b}
}

// message is the frame as a WebSocket message.
func (f *frame) message() []byte {
	f.wsOnce.Do(func() {
		f.ws = appendFrame(make([]byte, 0, len(f.json)+4), opText, f.json)
	})
	return f.ws
}

// event is the frame as a server-sent event under its id, or for a frame that is
// no state under id: what a client names when it comes back is its last state.
func (f *frame) event(id string) []byte {
	f.sseOnce.Do(func() {
		b := make([]byte, 0, len(f.json)+len(f.kind)+len(f.id)+48)
		if f.id != "" {
			b = appendLine(b, "id: ", f.id)
		}
		if f.retry > 0 {
			b = appendLine(b, "retry: ", strconv.FormatInt(f.retry, 10))
		}
		b = appendLine(b, "event: ", f.kind)
		b = append(b, "data: "...)
		b = append(b, f.json...)
		f.sse = append(b, "\n\n"...)
	})
	if f.id != "" || id == "" {
		return f.sse
	}
	return append(appendLine(make([]byte, 0, len(f.sse)+len(id)+8), "id: ", id), f.sse...)
}

func appendLine(b []byte, name, value string) []byte {
	b = append(b, name...)
	b = append(b, value...)
	return append(b, '\n')
}

// eventID is the id of a state. A degraded one cannot be resumed from: the same
// version may have other rows once the ranking is back.
func eventID(epoch, version int64, degraded bool) string {
	if degraded {
		return "0:0"
	}
	return strconv.FormatInt(epoch, 10) + ":" + strconv.FormatInt(version, 10)
}

// The frames as they are written: each with the fields that its type always
// has, an empty board as "top":[]. They are read as a protocol.Frame.
type (
	stateHead struct {
		Type           string    `json:"type"`
		Board          string    `json:"board"`
		Version        int64     `json:"version"`
		Epoch          int64     `json:"epoch"`
		TS             time.Time `json:"ts"`
		Degraded       bool      `json:"degraded,omitempty"`
		DegradedReason string    `json:"degraded_reason,omitempty"`
		WindowMS       int64     `json:"window_ms,omitempty"`
	}
	updatedFrame struct {
		stateHead
		Top []protocol.Entry `json:"top"`
	}
	deltaFrame struct {
		stateHead
		Base    int64            `json:"base"`
		Changed []protocol.Entry `json:"changed"`
		Removed []string         `json:"removed"`
	}
	rankFrame struct {
		Type         string    `json:"type"`
		Board        string    `json:"board"`
		UserID       string    `json:"user_id"`
		Score        int64     `json:"score"`
		Rank         int64     `json:"rank"`
		PreviousRank *int64    `json:"previous_rank,omitempty"` // absent when it was not known
		Version      int64     `json:"version,omitempty"`       // the user's; absent until they moved
		Epoch        int64     `json:"epoch"`
		TS           time.Time `json:"ts"`
	}
	byeFrame struct {
		Type             string `json:"type"`
		Reason           string `json:"reason"`
		ReconnectAfterMS int64  `json:"reconnect_after_ms"`
	}
	errorFrame struct {
		Type      string `json:"type"`
		ErrorCode string `json:"error_code"`
		Message   string `json:"message"`
		Field     string `json:"field,omitempty"`
		Board     string `json:"board,omitempty"`
	}
)

// difference is what turns the rows before into the rows now: the entries to
// put by user, and the users to take away first.
func difference(before, now []scoreboard.Entry) (changed []protocol.Entry, removed []string) {
	was := make(map[scoreboard.UserID]scoreboard.Entry, len(before))
	for _, e := range before {
		was[e.User] = e
	}
	rows := make([]scoreboard.Entry, 0, len(now))
	for _, e := range now {
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
	return protocol.Entries(rows), removed
}
