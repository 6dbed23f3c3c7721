package codec

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/scoreboard/scoreboard/loadgen/plan"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// ModuleAction is the action of increments through the dialect module. The server must
// have a rule for it: ingest.actions=load:1:100;once=0s.
const ModuleAction = "load"

// at is the time of an event. That of its repeats is the same, and no other event's is.
func at(e *plan.Event) string {
	var ms int64 // the event id begins with it
	for _, b := range e.ID[:6] {
		ms = ms<<8 | int64(b)
	}
	return time.UnixMilli(ms).Add(time.Duration(e.Of % uint64(time.Millisecond))).UTC().Format(time.RFC3339Nano)
}

// EventID is the id that the ledger has for an event.
func EventID(p *plan.Plan, e *plan.Event) string {
	if p.Dialect != plan.Module {
		return e.ID.String()
	}
	return ModuleEventID(p.UserID(e.User), at(e))
}

// ModuleEventID is the id that the ledger has for ModuleAction by a user at a time, as
// RFC 3339 in UTC.
func ModuleEventID(user, at string) string {
	text := strings.Join([]string{user, ModuleAction, at}, "|")
	return scoreboard.NamedEventID(scoreboard.UserID(user), text).Text
}

// AppendAction appends the request that starts the action of an event, for the dialect
// highscore. Its response has the action token.
func (c *Composer) AppendAction(b []byte, e *plan.Event, token string) []byte {
	body := append(e.AppendID([]byte(`{"action_id":"`)), `"}`...)
	return c.appendPost(b, c.native+"/v1/actions", body, nil, token)
}

// AppendDialect appends request n in the shape of the plan's dialect. action is the action
// token of a write through highscore.
func (c *Composer) AppendDialect(b []byte, n uint64, token, action string) []byte {
	k, write := c.plan.Write(n)
	if !write {
		b = c.appendDialectRead(append(append(b, "GET "...), c.path...), n)
		return append(c.appendHeaders(b, token), "\r\n"...)
	}
	e := c.events.At(k)
	var path string
	var body, header []byte
	switch c.plan.Dialect {
	case plan.Highscore:
		path = "/v1/scores/update"
		body = append(e.AppendID([]byte(`{"action_id":"`)), `","action_token":"`...)
		body = append(append(body, action...), `","new_score":`...)
		body = append(strconv.AppendInt(body, e.Delta, 10), `,"timestamp":"`...)
		body = append(append(body, at(&e)...), `"}`...)
	case plan.Delta:
		path = "/v1/score/update"
		body = append(c.plan.AppendUserID([]byte(`{"userId":"`), e.User), `","scoreDelta":`...)
		body = append(strconv.AppendInt(body, e.Delta, 10), `,"actionId":"`...)
		body = append(append(e.AppendID(body), `","timestamp":"`...), at(&e)...)
		body = append(body, `"}`...)
	case plan.Module:
		path = "/api/v1/scores/update"
		body = append(c.plan.AppendUserID([]byte(`{"userId":"`), e.User), `","actionId":"`+ModuleAction...)
		body = strconv.AppendInt(append(body, `","scoreIncrement":`...), e.Delta, 10)
		body = append(append(append(body, `,"timestamp":"`...), at(&e)...), `"}`...)
	case plan.Plain:
		path = "/scores"
		body = append(strconv.AppendInt([]byte(`{"score":`), e.Delta, 10), '}')
		header = append(e.AppendID([]byte("Idempotency-Key: ")), "\r\n"...)
	}
	return c.appendPost(b, c.path+path, body, header, token)
}

func (c *Composer) appendPost(b []byte, path string, body, header []byte, token string) []byte {
	b = append(append(b, "POST "...), path...)
	b = append(append(c.appendHeaders(b, token), header...), "Content-Type: application/json\r\nContent-Length: "...)
	b = strconv.AppendInt(b, int64(len(body)), 10)
	return append(append(b, "\r\n\r\n"...), body...)
}

// appendDialectRead appends the path of a read: the top and a user's rank alternate.
func (c *Composer) appendDialectRead(b []byte, n uint64) []byte {
	user, top := c.User(n), n%2 == 0
	switch d := c.plan.Dialect; {
	case d == plan.Highscore && top:
		return append(b, "/v1/leaderboard?n=10"...)
	case d == plan.Highscore:
		return append(b, "/v1/scores/me/rank?k=5"...)
	case d == plan.Delta && top:
		return append(b, "/v1/leaderboard/top?n=10"...)
	case d == plan.Delta:
		return append(c.plan.AppendUserID(append(b, "/v1/users/"...), user), "/score"...)
	case top:
		return append(b, "/leaderboard/top"...)
	}
	return c.plan.AppendUserID(append(b, "/leaderboard/"...), user)
}

// Probe returns a request of a dialect that changes nothing: where its writes need a
// scope, an increment of 0 for a user, which no board accepts, else a read of the top.
func Probe(dialect, user, event string) (method, path, body string) {
	now := time.Now().UTC().Format(time.RFC3339)
	switch dialect {
	case plan.Highscore:
		return http.MethodGet, "/v1/leaderboard?n=1", ""
	case plan.Plain:
		return http.MethodGet, "/leaderboard/top", ""
	case plan.Delta:
		return http.MethodPost, "/v1/score/update", fmt.Sprintf(
			`{"userId":%q,"scoreDelta":0,"actionId":%q,"timestamp":%q}`, user, event, now)
	}
	return http.MethodPost, "/api/v1/scores/update", fmt.Sprintf(
		`{"userId":%q,"actionId":%q,"scoreIncrement":0,"timestamp":%q}`, user, ModuleAction, now)
}

// ProbeProblem returns why the server rejects the writes of a dialect, from the response
// to a probe, "" if it does not.
func ProbeProblem(dialect string, status int, body []byte) string {
	var e struct {
		Message, Field string
		Error          struct{ Message string } // of highscore
	}
	_ = json.Unmarshal(body, &e) // an invalid response has no message
	zero := map[string]string{plan.Delta: "scoreDelta", plan.Module: "scoreIncrement"}[dialect]
	switch {
	case zero == "" && status == http.StatusOK, zero != "" && status == http.StatusBadRequest && e.Field == zero:
		return ""
	}
	return strings.TrimSpace(fmt.Sprintf("%d %s", status, cmp.Or(e.Message, e.Error.Message)))
}

// User is the user of request n, whose token it needs where the token names the user. A
// read is about a user of an earlier write, who has a score.
func (c *Composer) User(n uint64) uint64 {
	k, write := c.plan.Write(n)
	if !write {
		k /= 2
	}
	return c.events.At(k).User
}

// ParseAction returns the action token of a response.
func ParseAction(status int, body []byte) (token string, ok bool) {
	_, valid := parseObject(body, func(name, value []byte) bool {
		if string(name) == "action_token" {
			token = string(unquote(value))
		}
		return true
	})
	return token, valid && token != "" && status == http.StatusCreated
}

// DialectResponse is what a run needs of a response to a write in the shape of any
// dialect. Its slices share memory with the body.
type DialectResponse struct {
	Code  string // of an error
	Score int64  // of the user, afterwards
	// Applied is whether the write changed the score, and ID its event; with highscore.
	Applied bool
	ID      []byte
}

// Parse parses a body and reports whether it is valid.
func (r *DialectResponse) Parse(body []byte) bool {
	rest, ok := parseObject(body, r.field)
	return ok && len(bytes.TrimSpace(rest)) == 0
}

func (r *DialectResponse) field(name, value []byte) (ok bool) {
	switch string(name) {
	case "error_code", "code":
		r.Code = string(unquote(value))
	case "error", "data": // of highscore
		if value[0] == '{' {
			_, ok = parseObject(value, r.field)
			return ok
		}
	case "score", "newScore":
		var err error
		r.Score, err = strconv.ParseInt(string(value), 10, 64)
		return err == nil
	case "update_applied":
		r.Applied = string(value) == "true"
	case "last_action_id":
		r.ID = unquote(value)
	}
	return true
}
