package loadgen

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/loadgen/codec"
	"github.com/scoreboard/scoreboard/loadgen/freshness"
	"github.com/scoreboard/scoreboard/loadgen/plan"
)

// dialectAPI makes the requests of an acceptance run to a dialect that are not part of
// the load.
type dialectAPI struct {
	plan   *plan.Plan
	url    string // where the server has mounted the dialect
	native string // URL of the server, whose native API issues action tokens
	web    *http.Client
	token  func(user string) client.TokenSource // of a user, for any number of requests

	mu      sync.Mutex
	tokens  map[string]client.TokenSource
	actions map[string]string // action tokens, by event
	scores  map[string]int64  // of users where the best score is kept, after their last step
	events  int
}

var _ freshness.API = (*dialectAPI)(nil)

func newDialectAPI(r *run) *dialectAPI {
	lifetime := min(r.Plan.Schedule.Duration()+renewedLifetime, maxTokenLifetime).String()
	return &dialectAPI{
		plan: &r.Plan, url: r.Server.dialect, native: strings.TrimSuffix(r.Server.URL, "/"), web: r.web,
		token: func(user string) client.TokenSource {
			if !r.mints {
				return r.given
			}
			return r.token(user, "score:update", lifetime)
		},
		tokens: map[string]client.TokenSource{}, actions: map[string]string{}, scores: map[string]int64{},
	}
}

// tokenOf returns a token of a user. Servers limit it as that of a server.
func (d *dialectAPI) tokenOf(ctx context.Context, user string) (string, error) {
	d.mu.Lock()
	source := d.tokens[user]
	if source == nil {
		source = d.token(user)
		d.tokens[user] = source
	}
	d.mu.Unlock()
	return source.Token(ctx)
}

// dialectAnswer is the response to a write.
type dialectAnswer struct {
	codec.DialectResponse
	status     int
	retryAfter string
	at         time.Time // of the commit; zero if the response does not say it
}

// response is a response whose body has been read.
type response struct {
	status int
	header http.Header
	body   []byte
}

// exchange sends a request with a token.
func exchange(
	ctx context.Context, web *http.Client, method, url, token, body string, headers ...string,
) (r response, err error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return r, err
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := web.Do(req)
	if err != nil {
		return r, err
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(res.Body, maxResponse))
	return response{res.StatusCode, res.Header, text}, err
}

// newEvent returns the id of a new event; with module, which has none, its time.
func (d *dialectAPI) newEvent() string {
	if d.plan.Dialect != plan.Module {
		return client.NewEventID()
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.events++
	return time.Now().UTC().Add(time.Duration(d.events)).Format(time.RFC3339Nano)
}

// ledgerID is the id that the ledger has for an event.
func (d *dialectAPI) ledgerID(user, event string) string {
	if d.plan.Dialect == plan.Module {
		return codec.ModuleEventID(user, event)
	}
	return event
}

// submit sends a write. of is an event whose action token it uses, by default its own.
func (d *dialectAPI) submit(
	ctx context.Context, token, user, event string, value int64, of string,
) (a dialectAnswer, err error) {
	now := time.Now().UTC().Format(time.RFC3339)
	var path, body string
	var headers []string
	switch d.plan.Dialect {
	case plan.Highscore:
		if of == "" {
			of = event
		}
		d.mu.Lock()
		action := d.actions[of]
		d.mu.Unlock()
		if action == "" {
			start := fmt.Sprintf(`{"action_id":%q}`, of)
			r, err := exchange(ctx, d.web, http.MethodPost, d.native+"/v1/actions", token, start)
			if err != nil {
				return a, err
			}
			var ok bool
			if action, ok = codec.ParseAction(r.status, r.body); !ok { // its error is the write's
				a.status, a.retryAfter = r.status, r.header.Get("Retry-After")
				a.Parse(r.body)
				return a, nil
			}
			d.mu.Lock()
			d.actions[of] = action
			d.mu.Unlock()
		}
		path = "/v1/scores/update"
		body = fmt.Sprintf(`{"action_id":%q,"action_token":%q,"new_score":%d,"timestamp":%q}`,
			event, action, value, now)
	case plan.Delta:
		path = "/v1/score/update"
		body = fmt.Sprintf(`{"userId":%q,"scoreDelta":%d,"actionId":%q,"timestamp":%q}`, user, value, event, now)
	case plan.Module:
		path = "/api/v1/scores/update"
		body = fmt.Sprintf(`{"userId":%q,"actionId":%q,"scoreIncrement":%d,"timestamp":%q}`,
			user, codec.ModuleAction, value, event)
	case plan.Plain:
		path, body, headers = "/scores", fmt.Sprintf(`{"score":%d}`, value), []string{"Idempotency-Key", event}
	}
	r, err := exchange(ctx, d.web, http.MethodPost, d.url+path, token, body, headers...)
	if err != nil {
		return a, err
	}
	a.status, a.retryAfter = r.status, r.header.Get("Retry-After")
	if !a.Parse(r.body) {
		return a, fmt.Errorf("the response to %s is not JSON: %.100s", path, r.body)
	}
	var times struct {
		UpdatedAt time.Time
		Data      struct {
			UpdatedAt time.Time `json:"updated_at"`
		}
	}
	if json.Unmarshal(r.body, &times) == nil {
		if a.at = times.UpdatedAt; a.at.IsZero() {
			a.at = times.Data.UpdatedAt
		}
	}
	return a, nil
}

// stepFloor is higher than any score of a load where the best one is kept.
const stepFloor = 1 << 50

// Step implements freshness.API.
func (d *dialectAPI) Step(ctx context.Context, user string) (s freshness.Step, err error) {
	token, err := d.tokenOf(ctx, user)
	if err != nil {
		return s, err
	}
	value := int64(freshness.StepDelta)
	if d.plan.KeepsBest() {
		d.mu.Lock()
		score, known := d.scores[user]
		d.mu.Unlock()
		if !known { // of an earlier run
			place, err := d.place(ctx, user)
			var e *statusError
			if err != nil && (!errors.As(err, &e) || e.status != http.StatusNotFound) {
				return s, err
			}
			score = place.Score
		}
		s.Before = score
		value += max(score, stepFloor)
	}
	a, err := d.submit(ctx, token, user, d.newEvent(), value, "")
	switch {
	case err != nil:
		return s, err
	case a.status != http.StatusOK:
		return s, &statusError{a.status, a.Code}
	}
	s.After, s.At = a.Score, a.at
	if !d.plan.KeepsBest() {
		s.Before = a.Score - value
		return s, nil
	}
	d.mu.Lock()
	d.scores[user] = value
	d.mu.Unlock()
	if a.Score != value {
		return s, fmt.Errorf("%s has the score %d after %d was submitted", user, a.Score, value)
	}
	return s, nil
}

// statusError is a response that is not a 200.
type statusError struct {
	status int
	code   string
}

func (e *statusError) Error() string { return strings.TrimSpace(strconv.Itoa(e.status) + " " + e.code) }

// read sends a GET with a user's token and decodes the response.
func (d *dialectAPI) read(ctx context.Context, user, path string, to any) (http.Header, error) {
	token, err := d.tokenOf(ctx, user)
	if err != nil {
		return nil, err
	}
	r, err := exchange(ctx, d.web, http.MethodGet, d.url+path, token, "")
	switch {
	case err != nil:
		return nil, err
	case r.status != http.StatusOK:
		var a codec.DialectResponse
		a.Parse(r.body)
		return nil, &statusError{r.status, a.Code}
	}
	return r.header, json.Unmarshal(r.body, to)
}

// dialectRow is a row of any dialect.
type dialectRow struct {
	Rank, Score int64
	PlayerID    string          `json:"player_id"`
	UserID      json.RawMessage // a number or a string
}

func entries(rows []dialectRow) []client.Entry {
	all := make([]client.Entry, len(rows))
	for i, r := range rows {
		user := r.PlayerID
		if user == "" {
			user = strings.Trim(string(r.UserID), `"`)
		}
		all[i] = client.Entry{Rank: r.Rank, UserID: user, Score: r.Score}
	}
	return all
}

// dialectRows are the rows of a response or a message; plain has a bare array.
type dialectRows struct {
	Top  []dialectRow
	Data struct {
		Entries  []dialectRow
		Degraded bool
	}
	bare []dialectRow
}

// UnmarshalJSON implements json.Unmarshaler.
func (r *dialectRows) UnmarshalJSON(b []byte) error {
	if bytes.HasPrefix(b, []byte("[")) {
		return json.Unmarshal(b, &r.bare)
	}
	type plain dialectRows
	return json.Unmarshal(b, (*plain)(r))
}

func (r *dialectRows) entries() []client.Entry {
	return entries(append(append(r.bare, r.Top...), r.Data.Entries...))
}

// shown reads the first rows, at most limit.
func (d *dialectAPI) shown(ctx context.Context) (rows []client.Entry, limit int, err error) {
	path := map[string]string{
		plan.Highscore: "/v1/leaderboard?n=100", plan.Delta: "/v1/leaderboard/top?n=100",
		plan.Plain: "/leaderboard/top",
	}[d.plan.Dialect]
	if limit = 100; d.plan.Dialect == plan.Plain {
		limit = 10
	}
	var top dialectRows
	header, err := d.read(ctx, d.plan.Prefix+"reader", path, &top)
	if err == nil && (top.Data.Degraded || header.Get("X-Scoreboard-Degraded") != "") {
		err = errors.New("the response is degraded")
	}
	return top.entries(), limit, err
}

// Top implements freshness.API.
func (d *dialectAPI) Top(ctx context.Context) ([]client.Entry, error) {
	rows, _, err := d.shown(ctx)
	return rows, err
}

// place reads a user's standing.
func (d *dialectAPI) place(ctx context.Context, user string) (client.Place, error) {
	path := map[string]string{
		plan.Highscore: "/v1/scores/me/rank?k=0", plan.Delta: "/v1/users/" + user + "/score",
		plan.Plain: "/leaderboard/" + user,
	}[d.plan.Dialect]
	var p struct {
		Score, Rank int64
		Data        struct {
			Score int64
			Rank  int64 `json:"global_rank"`
		}
	}
	_, err := d.read(ctx, user, path, &p)
	return client.Place{Score: p.Score + p.Data.Score, Rank: p.Rank + p.Data.Rank}, err // one of them is absent
}
