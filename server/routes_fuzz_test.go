package server_test

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/config"
	"github.com/scoreboard/scoreboard/server/http/auth"
)

// Whatever is sent to a route, the answer is one that the OpenAPI document declares, it
// is never a server error, and a request that is rejected has changed nothing. The
// routes are those of the document, which has all of the route table
// (TestOpenAPIHasEveryRoute), and those of the dialects' documents.
func FuzzRoutes(f *testing.F) {
	for n := range uint64(100) {
		f.Add(4*n, `{"user_id":"alice"}`) // which sends to four routes
	}
	f.Add(uint64(1), `{"a":`+strings.Repeat("[", 100))
	f.Add(uint64(2), "\x00\xff")
	h := newHarness(f)
	n := h.start(allRoles, "auth-dev-issuer", "true", "limit-events-per-minute", "0", "limit-tickets-per-minute", "0",
		"limit-admin-per-minute", "0", "limit-anonymous-per-minute", "0", "limit-auth-failures-per-minute", "0",
		"realtime-connections-per-user", "0", "realtime-joins-per-second", "0", "reads-anonymous", "true",
		"log-level", "error", "dialects", strings.Join(config.DialectNames, ","), "ingest-actions", "win:1:100")
	const all = auth.ScopeAdmin + " " + auth.ScopeUpdate
	root := h.token("root", all, time.Hour)
	r := &routeFuzzer{h: h, url: n.URL, tokens: []string{
		root, root, root, root, root, root, // mostly, to reach the handlers
		"", "no token", h.token("alice", "", time.Hour), h.token("game", auth.ScopeUpdate, time.Hour),
		h.token("alice", auth.ScopeJoin, time.Hour),
	}}
	for _, d := range documents(f, n) {
		for path, methods := range d.Paths {
			for method := range methods {
				r.routes = append(r.routes, fuzzedRoute{d, method, path})
			}
		}
	}
	slices.SortFunc(r.routes, func(a, b fuzzedRoute) int {
		return strings.Compare(a.document.base()+a.path+a.method, b.document.base()+b.path+b.method)
	})
	status, _, answer := request(f, http.MethodPost, n.URL+"/v1/scores/increment", `{"user_id":"alice","delta":5,`+
		`"event_id":"e1","timestamp":"`+time.Now().UTC().Format(time.RFC3339)+`"}`, bearer(root))
	if status != http.StatusOK {
		f.Fatalf("the first increment: got %d %s", status, answer)
	}
	f.Fuzz(func(t *testing.T, seed uint64, raw string) {
		// Each input is several requests: the seed chooses the first route.
		for i := range uint64(4) {
			r.send(t, rand.New(rand.NewPCG(seed, i)), r.routes[(seed+i)%uint64(len(r.routes))], raw)
		}
	})
}

// routeFuzzer sends requests that a random number generator makes.
type routeFuzzer struct {
	h      *harness
	url    string
	tokens []string
	routes []fuzzedRoute
	state  string // dump after the last request
}

// fuzzedRoute is a route of a document.
type fuzzedRoute struct {
	document     *document
	method, path string
}

func (r *routeFuzzer) send(t *testing.T, rng *rand.Rand, route fuzzedRoute, raw string) {
	method, path := strings.ToUpper(route.method), route.document.base()+route.path
	o := route.document.Paths[route.path][route.method]
	pick := func(values ...string) string { return values[rng.IntN(len(values))] }
	// Mostly one thing is wrong: what is checked first would hide the rest.
	value := func(name string) string {
		if rng.IntN(4) > 0 {
			return plausible(name)
		}
		return pick("", "0", "-1", "9223372036854775807", "é", "a b", "a|b", "\x00", "\xff", raw,
			strings.Repeat("x", 1200))
	}
	query := url.Values{}
	for _, p := range o.Parameters {
		switch {
		case p.In == "path":
			text := value(p.Name)
			if text == "" || text == "." || text == ".." {
				text = plausible(p.Name) // an empty segment is another route
			}
			path = strings.ReplaceAll(path, "{"+p.Name+"}", url.PathEscape(text))
		case rng.IntN(3) == 0:
			query.Add(p.Name, value(p.Name))
		}
	}
	if rng.IntN(16) == 0 {
		query.Add(pick("unheard", "board", "limit", raw), pick("1", raw))
	}
	target := path
	if len(query) > 0 {
		target += "?" + query.Encode()
	}
	body := route.body(rng, o.RequestBody.Content["application/json"].Schema, raw)
	header := http.Header{}
	if token := pick(r.tokens...); token != "" {
		header.Set("Authorization", "Bearer "+token)
	}
	if method != http.MethodGet {
		header.Set("Content-Type", "application/json")
		if rng.IntN(16) == 0 {
			header.Set("Content-Type", pick("text/plain", ";"))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(fuzzedHeaders)) {
		values := fuzzedHeaders[name]
		if rng.IntN(16) == 0 {
			header.Set(name, pick(values...))
		}
	}
	if r.state == "" {
		r.state = r.h.dump(t)
	}
	req, err := http.NewRequestWithContext(t.Context(), method, r.url+target, strings.NewReader(body))
	if err != nil {
		return // no URL
	}
	maps.Copy(req.Header, header)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatalf("%s %q: %v", method, target, err)
	}
	defer func() { _ = res.Body.Close() }()
	var answer []byte
	if res.Header.Get("Content-Type") != "text/event-stream" { // which has no end
		if answer, err = io.ReadAll(res.Body); err != nil {
			t.Fatalf("%s %q: %v", method, target, err)
		}
	}
	about := fmt.Sprintf("%s %.300q, %v, body %.300q: got %d %.300s",
		method, target, header, body, res.StatusCode, answer)
	if _, declared := o.Responses[strconv.Itoa(res.StatusCode)]; !declared || res.StatusCode >= 500 {
		t.Errorf("%s, want a declared status below 500", about)
	}
	state := r.h.dump(t)
	if res.StatusCode >= 400 {
		if errorCode(string(answer)) == "" {
			t.Errorf("%s, want an error body", about)
		}
		if state != r.state {
			t.Errorf("%s, and it changed %s to %s", about, r.state, state)
		}
	}
	r.state = state
}

// fuzzedHeaders are the headers that routes read.
var fuzzedHeaders = map[string][]string{
	"Prefer": {"respond-async", "x"}, "If-None-Match": {"*", `W/"x"`, "x"}, "X-Request-Id": {"r1", "é", "a b"},
	"Traceparent": {"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "x"}, "User-Agent": {"é", "x\ty"},
	"Origin": {"https://evil.example"}, "Last-Event-Id": {"1:1", "x"}, "Upgrade": {"websocket"},
	"Idempotency-Key": {"k1", "a b"}, "X-Idempotency-Key": {"1", "é"},
	"X-Scoreboard-Signature": {"v1=00", "x"}, "X-Scoreboard-Timestamp": {"1", "x"}, "X-Scoreboard-Key": {"k", "é"},
	"Accept": {"text/html", "application/json", "*/*"},
}

// body returns a body for a schema: mostly an object with some of its fields, of which
// some are invalid.
func (r *fuzzedRoute) body(rng *rand.Rand, s schema, raw string) string {
	if s.Ref == "" {
		return ""
	}
	switch rng.IntN(12) {
	case 0:
		return raw
	case 1:
		return []string{"{}", "null", "[]", "1", "", `"x"`, "{}{}", strings.Repeat("[", 3000)}[rng.IntN(8)]
	}
	s = r.document.Components.Schemas[s.Ref[strings.LastIndex(s.Ref, "/")+1:]]
	var fields []string
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		if slices.Contains(s.Required, name) && rng.IntN(16) > 0 || rng.IntN(3) == 0 {
			fields = append(fields, strconv.Quote(name)+":"+r.value(rng, name, s.Properties[name], raw))
		}
	}
	if rng.IntN(16) == 0 {
		fields = append(fields, `"unheard":1`)
	}
	return "{" + strings.Join(fields, ",") + "}"
}

func (r *fuzzedRoute) value(rng *rand.Rand, name string, s schema, raw string) string {
	if rng.IntN(12) == 0 {
		quoted, _ := json.Marshal(raw)
		wrong := []string{
			"null", "true", "1.5", "1e3", "-1", "0", "9223372036854775808", `""`, `"é"`, `"\u0000"`, "[]", "{}",
			"[null]", string(quoted), strconv.Quote(strings.Repeat("x", 600)),
		}
		return wrong[rng.IntN(len(wrong))]
	}
	switch {
	case s.Ref != "":
		return r.body(rng, s, raw)
	case s.Items != nil:
		return "[" + r.value(rng, name, *s.Items, raw) + "]"
	case s.Type == "integer":
		return strconv.Itoa(rng.IntN(20) - 3)
	case s.Type == "boolean":
		return strconv.FormatBool(rng.IntN(2) == 0)
	}
	return strconv.Quote(plausible(name))
}

// plausible is a value that a parameter or a field with a name may have.
func plausible(name string) string {
	switch name {
	case "board", "boards", "family":
		return "global"
	case "user_id", "user_ids", "userId":
		return "alice"
	case "event_id":
		return "e1"
	case "ttl", "overlap", "min_duration", "action_min", "action_ttl":
		return "30s"
	case "wait":
		return "10ms"
	case "after":
		return "1"
	case "mode":
		return "increment"
	case "order":
		return "highest"
	case "period":
		return "none"
	case "state":
		return "all"
	case "status":
		return "active"
	case "from", "from_time", "starts_at":
		return "2026-01-01T00:00:00Z"
	case "to", "ends_at":
		return "2026-01-02T00:00:00Z"
	case "timestamp":
		return time.Now().UTC().Format(time.RFC3339)
	case "require":
		return wire.RequireActionToken
	case "name":
		return "reads.top_n"
	case "value":
		return "20"
	}
	return harmless(name)
}
