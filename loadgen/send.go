package loadgen

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/loadgen/record"
	"github.com/scoreboard/scoreboard/server/protocol"
)

// Server is where the increments go and by whose leave.
type Server struct {
	URL       string
	Token     string // with scope score:update, for it writes for many users
	KeyID     string
	KeySecret string
}

// sender makes the request of each number at the moment it is sent, on the
// goroutine that sends it, so that its timestamp is as fresh as a client's and
// signing does not bend the clock.
type sender struct {
	plan   *Plan
	draw   *draw
	tokens []client.TokenSource // taken in turn
	signer client.Signer
	base   *url.URL
	next   http.RoundTripper
}

// number is the header in which vegeta says which request this is.
const number = "X-Vegeta-Seq"

// RoundTrip implements http.RoundTripper. What comes in has nothing but the
// number of the request.
func (s *sender) RoundTrip(r *http.Request) (*http.Response, error) {
	n, err := strconv.ParseUint(r.Header.Get(number), 10, 64)
	if err != nil {
		return nil, fmt.Errorf("read the number of a request: %w", err)
	}
	req, err := s.request(r.Context(), n)
	if err != nil {
		return nil, err
	}
	return s.next.RoundTrip(req)
}

func (s *sender) request(ctx context.Context, n uint64) (*http.Request, error) {
	token, err := s.tokens[n%uint64(len(s.tokens))].Token(ctx)
	if err != nil {
		return nil, err
	}
	header := http.Header{"Authorization": {"Bearer " + token}, "User-Agent": {"scoreboard-loadgen"}}
	u := *s.base
	req := (&http.Request{
		Method: http.MethodGet, URL: &u, Header: header, Host: u.Host, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}).WithContext(ctx)
	k, write := s.plan.write(n)
	if !write {
		s.read(&u, n)
		return req, nil
	}
	body, err := s.body(k)
	if err != nil {
		return nil, err
	}
	req.Method, req.Body, req.ContentLength = http.MethodPost, io.NopCloser(bytes.NewReader(body)), int64(len(body))
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	header.Set("Content-Type", "application/json")
	u.Path = s.base.Path + "/v1/scores/increment"
	switch s.plan.Mode {
	case Async:
		header.Set("Prefer", "respond-async")
	case Batch:
		u.Path = s.base.Path + "/v1/scores/increments"
		s.signer.Headers(req, body, time.Now())
	}
	return req, nil
}

// read asks for the top and for standings in turn.
func (s *sender) read(u *url.URL, n uint64) {
	if n%2 == 0 {
		u.Path, u.RawQuery = s.base.Path+"/v1/leaderboard/top", "limit=10"
		return
	}
	u.Path = s.base.Path + "/v1/users/" + s.plan.name(s.draw.event(n/2).user) + "/rank"
}

// body is that of write k.
func (s *sender) body(k uint64) ([]byte, error) {
	if s.plan.Mode != Batch {
		return json.Marshal(s.increment(s.draw.event(k), s.signer))
	}
	batch := protocol.Batch{Items: make([]protocol.IncrementRequest, 0, s.plan.Size)}
	for _, e := range s.plan.batch(s.draw, k) {
		r := s.increment(e, client.Signer{})
		r.Timestamp = time.Now().UTC().Format(time.RFC3339)
		batch.Items = append(batch.Items, *r)
	}
	return json.Marshal(batch)
}

func (s *sender) increment(e event, signer client.Signer) *protocol.IncrementRequest {
	r := &protocol.IncrementRequest{UserID: s.plan.name(e.user), Delta: e.delta, EventID: e.id}
	signer.Fields(r, time.Now())
	if e.kind == record.Forged {
		r.Signature = protocol.Sign("not "+signer.Secret, r.FieldText())
	}
	return r
}

// batch are the events of write k.
func (p *Plan) batch(d *draw, k uint64) []event {
	events := make([]event, p.perWrite())
	for i := range events {
		events[i] = d.event(k*uint64(len(events)) + uint64(i))
	}
	return events
}
