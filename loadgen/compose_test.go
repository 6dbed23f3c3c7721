package loadgen

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/client/clienttest"
	"github.com/scoreboard/scoreboard/loadgen/record"
	"github.com/scoreboard/scoreboard/server/protocol"
)

// What the composer writes by hand is byte for byte what package client signs
// and sends.
func TestComposedAsTheClientSigns(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*Plan, *Server){
		"sync":        func(*Plan, *Server) {},
		"async":       func(p *Plan, _ *Server) { p.Mode = Async },
		"batch":       func(p *Plan, _ *Server) { p.Mode, p.Size = Batch, 7 },
		"with boards": func(p *Plan, _ *Server) { p.Boards = []string{"one", "two"} },
		"unsigned":    func(_ *Plan, s *Server) { s.KeyID = "" },
		"forged":      func(p *Plan, _ *Server) { p.Forged = 0.9 },
		"odd key":     func(_ *Plan, s *Server) { s.KeyID = `k"\ü` },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := Server{URL: "http://example.com:81/base", KeyID: clienttest.KeyID, KeySecret: clienttest.Secret}
			o := load(t, server.URL, "100/60s", func(p *Plan) { p.Prefix = "p-"; change(p, &server) })
			base, err := url.Parse(server.URL)
			if err != nil {
				t.Fatal(err)
			}
			d := newDraw(&o.Plan, time.Now())
			c := newComposer(&o.Plan, d, server, base)
			for n := range uint64(50) {
				raw := c.request(nil, n, "tok")
				req, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(raw)))
				if err != nil {
					t.Fatal(err)
				}
				body, err := io.ReadAll(req.Body)
				if err != nil {
					t.Fatal(err)
				}
				expect(t, &o.Plan, d, server, n, req, body)
			}
		})
	}
}

func expect(t *testing.T, p *Plan, d *draw, s Server, n uint64, req *http.Request, body []byte) {
	t.Helper()
	signer := client.Signer{KeyID: s.KeyID, Secret: s.KeySecret}
	at := signedAt(t, body, req)
	item := func(e event) protocol.IncrementRequest {
		return protocol.IncrementRequest{
			UserID: p.name(e.user), Delta: e.delta, EventID: e.id.String(), Board: p.board(e.user), Timestamp: at.UTC().Format(time.RFC3339),
		}
	}
	var want []byte
	path := "/base/v1/scores/increment"
	if p.Mode == Batch {
		path += "s"
		var b protocol.Batch
		for _, e := range p.batch(d, n) {
			b.Items = append(b.Items, item(e))
		}
		want, _ = json.Marshal(b)
	} else {
		e := d.event(n)
		in := item(e)
		signer.Fields(&in, at)
		if e.kind == record.Forged {
			in.Signature = protocol.Sign("not "+s.KeySecret, in.FieldText())
		}
		want, _ = json.Marshal(in)
	}
	if !bytes.Equal(body, want) {
		t.Fatalf("got\n%s\nwant\n%s", body, want)
	}
	again, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://example.com:81"+path, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if p.Mode == Batch {
		signer.Headers(again, body, at)
	}
	for _, h := range []string{protocol.HeaderKey, protocol.HeaderTimestamp, protocol.HeaderSignature} {
		if got := req.Header.Get(h); got != again.Header.Get(h) {
			t.Errorf("%s: got %q, want %q", h, got, again.Header.Get(h))
		}
	}
	if req.Method != http.MethodPost || req.URL.Path != path || req.Host != "example.com:81" || req.Header.Get("Authorization") != "Bearer tok" ||
		req.Header.Get("Content-Type") != "application/json" || (req.Header.Get("Prefer") == "respond-async") != (p.Mode == Async) {
		t.Errorf("got %s %s to %s with %v", req.Method, req.URL, req.Host, req.Header)
	}
}

// signedAt is the time that stands in a request.
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

func TestAnswersAreRead(t *testing.T) {
	t.Parallel()
	previous, rank := int64(3), int64(1)
	receipt := protocol.Receipt{
		UserID: `a"}]`, Board: "global", NewScore: 8, PreviousScore: &previous, Rank: &rank, Version: 2, ProcessedEventID: "e-1", Applied: 5, Replayed: true, Status: "done",
	}
	b, err := json.MarshalIndent(receipt, "", "\t")
	if err != nil {
		t.Fatal(err)
	}
	var a answer
	if !a.read(b) || a.applied != 5 || !a.replayed || string(a.id) != "e-1" || a.code != nil {
		t.Errorf("got %+v of %s", a, b)
	}
	batch, err := json.Marshal(protocol.BatchResults{Results: []protocol.BatchResult{
		{Status: "done", Receipt: &receipt},
		{Status: "rejected", Error: &protocol.Error{ErrorCode: "event_conflict", Message: "not, {so}"}},
		{Status: "rejected", Error: &protocol.Error{ErrorCode: "overloaded"}},
		{Status: "rejected", Error: &protocol.Error{ErrorCode: "rule_violated"}},
		{Status: "pending"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	var statuses []int
	if !readBatch(batch, func(a answer) { statuses = append(statuses, a.status()) }) || len(statuses) != 5 ||
		statuses[0] != 200 || statuses[1] != 409 || statuses[2] != 503 || statuses[3] != 422 || statuses[4] != 202 {
		t.Errorf("got %v of %s", statuses, batch)
	}
	for _, text := range []string{
		"", "nothing", "[]", "{", `{"a"`, `{"a":`, `{"a":1`, `{"a":1}x`, `{"applied":1.5}`, `{"applied":"5"}`, `{"a":"b}`, `{"a" 1}`, `{a:1}`, `<html>{}</html>`,
	} {
		if a := (answer{}); a.read([]byte(text)) {
			t.Errorf("%q was taken for an answer: %+v", text, a)
		}
	}
	for _, text := range []string{"", "{", `{"results":5}`, `{"results":[1]}`, `{"results":[{"receipt":5}]}`, `{"results":[{}`} {
		if readBatch([]byte(text), func(answer) {}) {
			t.Errorf("%q was taken for the answer to a batch", text)
		}
	}
}

func FuzzAnswersNeverPanic(f *testing.F) {
	f.Add([]byte(`{"applied":5,"x":[{"y":"\""}]}`))
	f.Fuzz(func(_ *testing.T, b []byte) {
		var a answer
		_ = a.read(b)
		_ = readBatch(b, func(answer) {})
	})
}

func BenchmarkCompose(b *testing.B) {
	p := Plan{Users: 10_000, Skew: 1.1, Seed: 1, Mode: Sync}
	base := &url.URL{Scheme: "http", Host: "127.0.0.1:1"}
	c := newComposer(&p, newDraw(&p, time.Now()), Server{KeyID: clienttest.KeyID, KeySecret: clienttest.Secret}, base)
	var room []byte
	b.ReportAllocs()
	for n := range b.N {
		room = c.request(room[:0], uint64(n), "token")
	}
}
