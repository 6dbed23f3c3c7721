package codec

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"slices"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/loadgen/plan"
	"github.com/scoreboard/scoreboard/loadgen/record"
)

const keyID, keySecret = "k1", "sk_test_0123456789abcdef"

// server is the address and the key of the requests.
type server struct{ url, keyID, keySecret string }

// The composer writes exactly the bytes that package client signs and sends.
func TestRequestsAreAsTheClientSendsThem(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*plan.Plan, *server){
		"sync":        func(*plan.Plan, *server) {},
		"async":       func(p *plan.Plan, _ *server) { p.Mode = plan.Async },
		"batch":       func(p *plan.Plan, _ *server) { p.Mode, p.BatchSize = plan.Batch, 7 },
		"with boards": func(p *plan.Plan, _ *server) { p.Boards = []string{"one", "two"} },
		"unsigned":    func(_ *plan.Plan, s *server) { s.keyID = "" },
		"forged":      func(p *plan.Plan, _ *server) { p.Forged = 0.9 },
		"unusual key": func(_ *plan.Plan, s *server) { s.keyID = `k"\ü` },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := server{"http://example.com:81/base", keyID, keySecret}
			schedule, err := plan.ParseSchedule("100/60s", 0)
			if err != nil {
				t.Fatal(err)
			}
			p := plan.Plan{Schedule: schedule, Users: 20, Seed: 7, Mode: plan.Sync, Prefix: "p-"}
			change(&p, &server)
			base, err := url.Parse(server.url)
			if err != nil {
				t.Fatal(err)
			}
			events := plan.NewEvents(&p, time.Now())
			c := NewComposer(&p, events, server.keyID, server.keySecret, base, nil)
			for n := range uint64(50) {
				raw := c.AppendRequest(nil, n, "tok")
				req, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(raw)))
				if err != nil {
					t.Fatal(err)
				}
				body, err := io.ReadAll(req.Body)
				if err != nil {
					t.Fatal(err)
				}
				expect(t, &p, events, server, n, req, body)
			}
		})
	}
}

// expect compares request n with what package client would send.
func expect(
	t *testing.T, p *plan.Plan, events *plan.Events, s server, n uint64, req *http.Request, body []byte,
) {
	t.Helper()
	signer := client.Signer{KeyID: s.keyID, Secret: s.keySecret, Prefix: "/base"}
	at := signedAt(t, body, req)
	item := func(e plan.Event) wire.IncrementRequest {
		return wire.IncrementRequest{
			UserID: p.UserID(e.User), Delta: e.Delta, EventID: e.ID.String(), Board: p.Board(e.User),
			Timestamp: at.UTC().Format(time.RFC3339),
		}
	}
	var want []byte
	path := "/base/v1/scores/increment"
	if p.Mode == plan.Batch {
		path += "s"
		var b wire.Batch
		for _, e := range events.Batch(n) {
			b.Items = append(b.Items, item(e))
		}
		want, _ = json.Marshal(b)
	} else {
		e := events.At(n)
		in := item(e)
		signer.Fields(&in, at)
		if e.Kind == record.Forged {
			in.Signature = wire.Sign("not "+s.keySecret, in.FieldText())
		}
		want, _ = json.Marshal(in)
	}
	if !bytes.Equal(body, want) {
		t.Fatalf("got\n%s\nwant\n%s", body, want)
	}
	again, err := http.NewRequestWithContext(
		t.Context(),
		http.MethodPost,
		"http://example.com:81"+path,
		bytes.NewReader(body),
	)
	if err != nil {
		t.Fatal(err)
	}
	if p.Mode == plan.Batch {
		signer.Headers(again, body, at)
	}
	for _, h := range []string{wire.HeaderKey, wire.HeaderTimestamp, wire.HeaderSignature} {
		if got := req.Header.Get(h); got != again.Header.Get(h) {
			t.Errorf("%s: got %q, want %q", h, got, again.Header.Get(h))
		}
	}
	async := req.Header.Get("Prefer") == "respond-async"
	if req.Method != http.MethodPost || req.URL.Path != path || req.Host != "example.com:81" ||
		req.Header.Get("Authorization") != "Bearer tok" || req.Header.Get("Content-Type") != "application/json" ||
		async != (p.Mode == plan.Async) {
		t.Errorf("got %s %s to %s with %v", req.Method, req.URL, req.Host, req.Header)
	}
}

// signedAt is the timestamp of a request.
func signedAt(t *testing.T, body []byte, req *http.Request) time.Time {
	t.Helper()
	var one struct {
		Timestamp time.Time
		Items     []struct{ Timestamp time.Time }
	}
	if err := json.Unmarshal(body, &one); err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	at := one.Timestamp
	if len(one.Items) > 0 {
		at = one.Items[0].Timestamp
	}
	if age := time.Since(at); age < 0 || age > 10*time.Second {
		t.Fatalf("%s was signed %v ago", req.URL, age)
	}
	return at
}

func TestParseResponses(t *testing.T) {
	t.Parallel()
	previous, rank := int64(3), int64(1)
	receipt := wire.Receipt{
		UserID: `a"}]`, Board: "global", NewScore: 8, PreviousScore: &previous, Rank: &rank, Version: 2,
		ProcessedEventID: "e-1", Applied: 5, Replayed: true, Status: "done",
	}
	b, err := json.MarshalIndent(receipt, "", "\t")
	if err != nil {
		t.Fatal(err)
	}
	var a Response
	if !a.Parse(b) || a.Applied != 5 || !a.Replayed || string(a.ID) != "e-1" || a.Code != nil {
		t.Errorf("got %+v of %s", a, b)
	}
	batch, err := json.Marshal(wire.BatchResults{Results: []wire.BatchResult{
		{Status: "done", Receipt: &receipt},
		{Status: "rejected", Error: &wire.Error{ErrorCode: "event_conflict", Message: "not, {so}"}},
		{Status: "rejected", Error: &wire.Error{ErrorCode: "overloaded"}},
		{Status: "rejected", Error: &wire.Error{ErrorCode: "rule_violated"}},
		{Status: "pending"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	var statuses []int
	if !ParseBatch(batch, func(r Response) { statuses = append(statuses, r.Status()) }) ||
		!slices.Equal(statuses, []int{200, 409, 503, 422, 202}) {
		t.Errorf("got %v of %s", statuses, batch)
	}
	for _, text := range []string{
		"", "nothing", "[]", "{", `{"a"`, `{"a":`, `{"a":1`, `{"a":1}x`, `{"applied":1.5}`, `{"applied":"5"}`,
		`{"a":"b}`, `{"a" 1}`, `{a:1}`, `<html>{}</html>`,
	} {
		if r := (Response{}); r.Parse([]byte(text)) {
			t.Errorf("%q was accepted: %+v", text, r)
		}
	}
	for _, text := range []string{
		"", "{", `{"results":5}`, `{"results":[1]}`, `{"results":[{"receipt":5}]}`, `{"results":[{}`,
	} {
		if ParseBatch([]byte(text), func(Response) {}) {
			t.Errorf("%q was accepted as a batch response", text)
		}
	}
}

func FuzzParseResponse(f *testing.F) {
	f.Add([]byte(`{"applied":5,"x":[{"y":"\""}]}`))
	f.Fuzz(func(_ *testing.T, b []byte) {
		var r Response
		_ = r.Parse(b)
		_ = ParseBatch(b, func(Response) {})
	})
}

func BenchmarkCompose(b *testing.B) {
	p := plan.Plan{Users: 10_000, Skew: 1.1, Seed: 1, Mode: plan.Sync}
	base := &url.URL{Scheme: "http", Host: "127.0.0.1:1"}
	c := NewComposer(&p, plan.NewEvents(&p, time.Now()), keyID, keySecret, base, nil)
	var buf []byte
	b.ReportAllocs()
	for n := range b.N {
		buf = c.AppendRequest(buf[:0], uint64(n), "token")
	}
}

// Through a dialect, users are read that have a score. The events of a dialect that keeps
// the best score are mostly higher than their users' earlier ones, and no two are equal.
func TestDialectReadsKnownUsers(t *testing.T) {
	t.Parallel()
	schedule, err := plan.ParseSchedule("1000/1s", 0)
	if err != nil {
		t.Fatal(err)
	}
	p := &plan.Plan{Schedule: schedule, Users: 200, Reads: 8, Mode: plan.Sync, Dialect: plan.Plain}
	events := plan.NewEvents(p, time.Now())
	c := NewComposer(p, events, "", "", &url.URL{}, &url.URL{})
	best, seen := map[uint64]int64{}, map[int64]bool{}
	higher, unknown, reads := 0, 0, 0
	for n := range uint64(9000) {
		k, write := p.Write(n)
		if !write {
			reads++
			if best[c.User(n)] == 0 {
				unknown++
			}
			continue
		}
		e := events.At(k)
		if seen[e.Delta] || e.Delta < 1 {
			t.Fatalf("event %d has the score %d", k, e.Delta)
		}
		if seen[e.Delta] = true; e.Delta > best[e.User] {
			best[e.User] = e.Delta
			higher++
		}
	}
	if reads != 8000 || unknown > 20 || higher < 800 || higher > 950 {
		t.Errorf("got %d reads, %d of users without a score, %d higher scores of 1000", reads, unknown, higher)
	}
}
