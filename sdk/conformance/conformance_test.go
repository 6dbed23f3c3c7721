package conformance_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/test/fixtures"
)

// read decodes a file of vectors. An unknown field is an error, so that no expectation
// goes unchecked.
func read[T any](t *testing.T, name string) T {
	t.Helper()
	raw, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var all T
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(&all); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return all
}

type cases[T any] struct {
	Cases []T `json:"cases"`
}

type fieldVector struct {
	Name      string                `json:"name"`
	Secret    string                `json:"secret"`
	KeyID     string                `json:"key_id"`
	Increment wire.IncrementRequest `json:"increment"`
	Text      string                `json:"text"`
	Signature string                `json:"signature"`
}

type headerVector struct {
	Name      string `json:"name"`
	Secret    string `json:"secret"`
	KeyID     string `json:"key_id"`
	Method    string `json:"method"`
	Target    string `json:"target"`
	Timestamp string `json:"timestamp"`
	Body      string `json:"body"`
	Text      string `json:"text"`
	Signature string `json:"signature"`
}

type signatures struct {
	Fields  []fieldVector  `json:"fields"`
	Headers []headerVector `json:"headers"`
}

func TestSignatures(t *testing.T) {
	t.Parallel()
	all := read[signatures](t, "signatures.json")
	for _, v := range all.Fields {
		if text := string(v.Increment.FieldText()); text != v.Text {
			t.Errorf("%s: got the text %q, want %q", v.Name, text, v.Text)
		}
		if got := wire.Sign(v.Secret, v.Increment.FieldText()); got != v.Signature {
			t.Errorf("%s: got %s, want %s", v.Name, got, v.Signature)
		}
	}
	for _, v := range all.Headers {
		text := wire.HeaderText(v.Method, v.Target, v.KeyID, v.Timestamp, []byte(v.Body))
		if string(text) != v.Text {
			t.Errorf("%s: got the text %q, want %q", v.Name, text, v.Text)
		}
		if got := wire.SignatureVersion + wire.Sign(v.Secret, text); got != v.Signature {
			t.Errorf("%s: got %s, want %s", v.Name, got, v.Signature)
		}
	}
	published := fixtures.ReadSigningVectors(t, "../../testdata/signing.json")
	for _, p := range published.Fields {
		if !slices.ContainsFunc(all.Fields, func(v fieldVector) bool { return v.Signature == p.Signature }) {
			t.Errorf("%s: in testdata/signing.json only", p.Name)
		}
	}
	for _, p := range published.Headers {
		if !slices.ContainsFunc(all.Headers, func(v headerVector) bool { return v.Signature == p.Signature }) {
			t.Errorf("%s: in testdata/signing.json only", p.Name)
		}
	}
}

// response is what the scripted server answers a request with.
type response struct {
	Lost    bool              `json:"lost,omitempty"` // the connection breaks instead
	Status  int               `json:"status,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
	Body    any               `json:"body,omitempty"` // sent as JSON
	Text    string            `json:"text,omitempty"` // sent as it is, if there is no Body
}

// seen is a request that the scripted server got.
type seen struct {
	at   time.Time
	req  *http.Request
	raw  []byte // the body as sent
	body map[string]any
}

// script is a transport that answers with the given responses, in order.
type script struct {
	mu        sync.Mutex
	responses []response
	seen      []seen
}

func (s *script) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	saw := seen{at: time.Now(), req: r}
	if r.Body != nil {
		saw.raw, _ = io.ReadAll(r.Body)
		if len(saw.raw) > 0 {
			if err := json.Unmarshal(saw.raw, &saw.body); err != nil {
				return nil, err
			}
		}
	}
	s.seen = append(s.seen, saw)
	if len(s.seen) > len(s.responses) {
		return nil, errors.New("one request more than scripted")
	}
	answer := s.responses[len(s.seen)-1]
	if answer.Lost {
		return nil, errors.New("connection lost")
	}
	text := answer.Text
	if answer.Body != nil {
		raw, err := json.Marshal(answer.Body)
		if err != nil {
			return nil, err
		}
		event, _ := saw.body["event_id"].(string)
		text = strings.ReplaceAll(string(raw), "$event_id", event)
	}
	return respond(r, answer.Status, answer.Headers, io.NopCloser(strings.NewReader(text))), nil
}

func respond(r *http.Request, status int, headers map[string]string, body io.ReadCloser) *http.Response {
	h := http.Header{}
	for k, v := range headers {
		h.Set(k, v)
	}
	return &http.Response{
		Status: fmt.Sprintf("%d %s", status, http.StatusText(status)), StatusCode: status, Header: h,
		Body: body, Request: r,
	}
}

func newClient(t *testing.T, transport http.RoundTripper, attempts int) *client.Client {
	t.Helper()
	return newSigningClient(t, transport, "", attempts, &signedBy{})
}

func newSigningClient(
	t *testing.T, transport http.RoundTripper, prefix string, attempts int, key *signedBy,
) *client.Client {
	t.Helper()
	c, err := client.New("https://scores.example.com"+prefix, client.Options{
		Attempts: attempts, HTTP: client.NewHTTP(transport), KeyID: key.KeyID, KeySecret: key.Secret,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// call is one call of a client; exactly one field is set.
type call struct {
	Submit  *wire.IncrementRequest  `json:"submit,omitempty"`
	Boards  *wire.IncrementRequest  `json:"submit_boards,omitempty"`
	Batch   []wire.IncrementRequest `json:"batch,omitempty"`
	Top     *place                  `json:"top,omitempty"`
	Me      *place                  `json:"me,omitempty"`
	Score   *place                  `json:"score,omitempty"`
	Rank    *place                  `json:"rank,omitempty"`
	Users   *wire.Users             `json:"users,omitempty"`
	Action  *wire.ActionRequest     `json:"action,omitempty"`
	Receipt *struct {
		EventID string `json:"event_id"`
		UserID  string `json:"user_id"`
	} `json:"receipt,omitempty"`
}

type place struct {
	UserID     string `json:"user_id"`
	Board      string `json:"board"`
	Limit      int    `json:"limit"`
	Neighbours int    `json:"neighbours"`
	MinVersion int64  `json:"min_version"`
}

func (p *place) query() client.PlaceQuery {
	return client.PlaceQuery{Board: p.Board, Neighbours: p.Neighbours, MinVersion: p.MinVersion}
}

func increment(r wire.IncrementRequest) client.Increment {
	return client.Increment{
		User: r.UserID, Delta: r.Delta, EventID: r.EventID, Board: r.Board, Action: r.Action,
		ActionToken: r.ActionToken, Attestation: r.Attestation, Attributes: r.Attributes, IfPeriod: r.IfPeriod,
		Metadata: json.RawMessage(r.Metadata), Subscore: r.Subscore,
	}
}

func (k call) do(t *testing.T, c *client.Client) (any, error) {
	t.Helper()
	ctx := t.Context()
	switch {
	case k.Submit != nil:
		return c.Submit(ctx, increment(*k.Submit))
	case k.Boards != nil:
		return c.SubmitBoards(ctx, increment(*k.Boards), k.Boards.Boards)
	case k.Batch != nil:
		ins := make([]client.Increment, len(k.Batch))
		for i, r := range k.Batch {
			ins[i] = increment(r)
		}
		results, err := c.SubmitBatch(ctx, ins)
		out := make([]any, len(results))
		for i, r := range results {
			var e *client.Error
			if out[i] = r.Receipt; errors.As(r.Err, &e) {
				out[i] = map[string]any{"code": e.Code, "field": e.Field, "event_id": e.EventID}
			}
		}
		return map[string]any{"results": out}, err
	case k.Top != nil:
		return c.Top(ctx, client.TopQuery{Board: k.Top.Board, Limit: k.Top.Limit, MinVersion: k.Top.MinVersion})
	case k.Me != nil:
		return c.Me(ctx, k.Me.query())
	case k.Score != nil:
		return c.Score(ctx, k.Score.UserID, k.Score.query())
	case k.Rank != nil:
		return c.Around(ctx, k.Rank.UserID, k.Rank.query())
	case k.Users != nil:
		return c.Users(ctx, k.Users.Board, k.Users.UserIDs)
	case k.Action != nil:
		return c.StartAction(ctx, *k.Action)
	case k.Receipt != nil:
		return c.ReceiptOf(ctx, k.Receipt.UserID, k.Receipt.EventID)
	}
	t.Fatal("a vector without a call")
	return nil, nil
}

// clientError is an error of a client as the vectors describe it. Absent fields are not
// compared.
type clientError struct {
	Status       *int    `json:"status,omitempty"`
	Code         *string `json:"code,omitempty"`
	Message      *string `json:"message,omitempty"`
	Field        *string `json:"field,omitempty"`
	Reason       *string `json:"reason,omitempty"`
	EventID      *string `json:"event_id,omitempty"`
	RequestID    *string `json:"request_id,omitempty"`
	RetryAfterMS *int64  `json:"retry_after_ms,omitempty"`
	WouldRank    *int64  `json:"would_rank,omitempty"`
	NextReset    *string `json:"next_reset,omitempty"`
	Attempts     *int    `json:"attempts,omitempty"`
	Temporary    *bool   `json:"temporary,omitempty"`
	NextStep     *string `json:"next_step,omitempty"`
}

func same[T comparable](t *testing.T, what string, want *T, got T) {
	t.Helper()
	if want != nil && *want != got {
		t.Errorf("%s: got %v, want %v", what, got, *want)
	}
}

func (want *clientError) check(t *testing.T, err error) {
	t.Helper()
	var e *client.Error
	if !errors.As(err, &e) {
		t.Fatalf("got %v, want a *client.Error", err)
	}
	same(t, "status", want.Status, e.Status)
	same(t, "code", want.Code, string(e.Code))
	same(t, "message", want.Message, e.Message)
	same(t, "field", want.Field, e.Field)
	same(t, "reason", want.Reason, string(e.Reason))
	same(t, "event id", want.EventID, e.EventID)
	same(t, "request id", want.RequestID, e.RequestID)
	same(t, "retry after", want.RetryAfterMS, e.RetryAfter.Milliseconds())
	same(t, "would rank", want.WouldRank, e.WouldRank)
	same(t, "next reset", want.NextReset, e.NextReset.Format(time.RFC3339))
	same(t, "attempts", want.Attempts, e.Attempts)
	same(t, "temporary", want.Temporary, e.Temporary())
	same(t, "next step", want.NextStep, e.NextStep())
}

// contains reports whether got, as JSON, has all that want has.
func contains(got, want any) bool {
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		for k, v := range w {
			ok = ok && contains(g[k], v)
		}
		return ok
	case []any:
		g, ok := got.([]any)
		ok = ok && len(g) == len(w)
		for i := range w {
			ok = ok && contains(g[i], w[i])
		}
		return ok
	}
	return reflect.DeepEqual(got, want)
}

func asJSON(t *testing.T, v any) (out any) {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

type errorVector struct {
	Name     string    `json:"name"`
	Now      time.Time `json:"now"`
	Response struct {
		Status  int               `json:"status"`
		Headers map[string]string `json:"headers"`
		Body    string            `json:"body"`
	} `json:"response"`
	Error clientError `json:"error"`
}

func TestErrors(t *testing.T) {
	t.Parallel()
	for _, v := range read[cases[errorVector]](t, "errors.json").Cases {
		t.Run(v.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				if !v.Now.IsZero() && !v.Now.Equal(time.Now()) {
					t.Fatalf("now must be %s", time.Now().UTC())
				}
				s := &script{responses: []response{
					{Status: v.Response.Status, Headers: v.Response.Headers, Text: v.Response.Body},
				}}
				_, err := newClient(t, s, 1).Top(t.Context(), client.TopQuery{})
				v.Error.check(t, err)
				if len(s.seen) != 1 {
					t.Errorf("got %d requests, want 1", len(s.seen))
				}
			})
		})
	}
}

type retryVector struct {
	Name      string     `json:"name"`
	Call      call       `json:"call"`
	Attempts  int        `json:"attempts"`
	Responses []response `json:"responses"`
	Expect    struct {
		Requests int          `json:"requests"`
		Waits    []bounds     `json:"waits"`
		Result   any          `json:"result,omitempty"`
		Error    *clientError `json:"error,omitempty"`
	} `json:"expect"`
}

type bounds struct {
	MinMS int64 `json:"min_ms"`
	MaxMS int64 `json:"max_ms"`
}

func (b bounds) check(t *testing.T, what string, d time.Duration) {
	t.Helper()
	// The least wait of full jitter is a nanosecond.
	if d < time.Duration(b.MinMS)*time.Millisecond || d > time.Duration(b.MaxMS)*time.Millisecond+1 {
		t.Errorf("%s: waited %v, want %d to %d ms", what, d, b.MinMS, b.MaxMS)
	}
}

func TestRetries(t *testing.T) {
	t.Parallel()
	for _, v := range read[cases[retryVector]](t, "retries.json").Cases {
		t.Run(v.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &script{responses: v.Responses}
				result, err := v.Call.do(t, newClient(t, s, v.Attempts))
				if len(s.seen) != v.Expect.Requests || len(v.Expect.Waits) != v.Expect.Requests-1 {
					t.Fatalf("got %d requests, want %d", len(s.seen), v.Expect.Requests)
				}
				for i, w := range v.Expect.Waits {
					w.check(t, fmt.Sprintf("before request %d", i+2), s.seen[i+1].at.Sub(s.seen[i].at))
				}
				ids := map[any]bool{}
				for _, r := range s.seen {
					ids[r.body["event_id"]] = true
				}
				if len(ids) != 1 || v.Call.Submit != nil && ids[nil] {
					t.Errorf("got the event ids %v, want one", ids)
				}
				if v.Expect.Error != nil {
					v.Expect.Error.check(t, err)
					return
				}
				if err != nil || v.Expect.Result == nil {
					t.Fatal(err)
				}
				if got := asJSON(t, result); !contains(got, v.Expect.Result) {
					t.Errorf("got %v, want %v", got, v.Expect.Result)
				}
			})
		})
	}
}

type queuedVector struct {
	Name      string     `json:"name"`
	Call      call       `json:"call"`
	Responses []response `json:"responses"`
	Expect    struct {
		Requests []string     `json:"requests"`
		Receipts []string     `json:"receipts,omitempty"`
		Error    *clientError `json:"error,omitempty"`
	} `json:"expect"`
}

func TestQueued(t *testing.T) {
	t.Parallel()
	for _, v := range read[cases[queuedVector]](t, "queued.json").Cases {
		t.Run(v.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &script{responses: v.Responses}
				result, err := v.Call.do(t, newClient(t, s, 1))
				var requests []string
				for _, r := range s.seen {
					requests = append(requests, r.req.Method+" "+r.req.URL.RequestURI())
				}
				if !slices.Equal(requests, v.Expect.Requests) {
					t.Errorf("got the requests %q, want %q", requests, v.Expect.Requests)
				}
				if v.Expect.Error != nil {
					v.Expect.Error.check(t, err)
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				receipts, several := result.([]client.Receipt)
				if !several {
					first := result.(client.Receipt)
					receipts = append([]client.Receipt{first}, first.Matched...)
				}
				var boards []string
				for _, r := range receipts {
					boards = append(boards, r.Board)
				}
				if !slices.Equal(boards, v.Expect.Receipts) {
					t.Errorf("got the receipts of %q, want %q", boards, v.Expect.Receipts)
				}
			})
		})
	}
}

type receiptVector struct {
	Name  string `json:"name"`
	Body  any    `json:"body"`
	Event struct {
		ID      string   `json:"id"`
		Status  string   `json:"status"`
		Boards  []string `json:"boards"`
		Code    string   `json:"code"`
		Message string   `json:"message"`
	} `json:"event"`
}

func TestReceipts(t *testing.T) {
	t.Parallel()
	for _, v := range read[cases[receiptVector]](t, "receipts.json").Cases {
		s := &script{responses: []response{{Status: 200, Body: v.Body}}}
		e, err := newClient(t, s, 1).Receipt(t.Context(), "match-7")
		if err != nil {
			t.Errorf("%s: %v", v.Name, err)
			continue
		}
		var boards []string
		for _, r := range e.Receipts {
			boards = append(boards, r.Board)
		}
		if w := v.Event; e.ID != w.ID || e.Status != w.Status || string(e.Code) != w.Code || e.Message != w.Message ||
			!slices.Equal(boards, w.Boards) {
			t.Errorf("%s: got %+v, want %+v", v.Name, e, w)
		}
	}
}

type cursorVector struct {
	Name     string              `json:"name"`
	Query    place               `json:"query"`
	Pages    []any               `json:"pages"`
	Requests []map[string]string `json:"requests"`
	Users    []string            `json:"users"`
}

// single is a query with a single value for each parameter.
func single(query url.Values) map[string]string {
	out := map[string]string{}
	for k := range query {
		out[k] = strings.Join(query[k], " and ")
	}
	return out
}

func TestCursors(t *testing.T) {
	t.Parallel()
	for _, v := range read[cases[cursorVector]](t, "cursors.json").Cases {
		s := &script{}
		for _, page := range v.Pages {
			s.responses = append(s.responses, response{Status: 200, Body: page})
		}
		c := newClient(t, s, 1)
		var users []string
		for q := (client.TopQuery{Board: v.Query.Board, Limit: v.Query.Limit}); ; {
			top, err := c.Top(t.Context(), q)
			if err != nil {
				t.Fatalf("%s: %v", v.Name, err)
			}
			for _, e := range top.Entries {
				users = append(users, e.UserID)
			}
			if q.Cursor = top.NextCursor; q.Cursor == "" {
				break
			}
		}
		var requests []map[string]string
		for _, r := range s.seen {
			requests = append(requests, single(r.req.URL.Query()))
		}
		if !slices.Equal(users, v.Users) || !reflect.DeepEqual(requests, v.Requests) {
			t.Errorf("%s: got %v by %v, want %v by %v", v.Name, users, requests, v.Users, v.Requests)
		}
	}
}
