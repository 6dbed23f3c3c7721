package loadgen

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/loadgen/codec"
	"github.com/scoreboard/scoreboard/loadgen/plan"
)

// sender composes each request when it is sent, on the goroutine that sends it:
// its timestamp is current, and signing does not delay other requests.
type sender struct {
	codec.Composer
	plan   *plan.Plan
	events *plan.Events
	tokens []client.TokenSource // used in turn
	conns  *codec.Conns
}

func newSender(p *plan.Plan, events *plan.Events, s Server, tokens []client.TokenSource) (*sender, error) {
	base, err := url.Parse(strings.TrimSuffix(s.URL, "/"))
	if err != nil {
		return nil, err
	}
	conns, err := codec.NewConns(base, timeout)
	if err != nil {
		return nil, err
	}
	var dialect *url.URL
	if p.Dialect != "" {
		if dialect, err = url.Parse(s.dialect); err != nil {
			return nil, err
		}
	}
	return &sender{
		Composer: codec.NewComposer(p, events, s.KeyID, s.KeySecret, base, dialect),
		plan:     p, events: events, tokens: tokens, conns: conns,
	}, nil
}

// sequenceHeader is the header in which vegeta sends the number of a request.
const sequenceHeader = "X-Vegeta-Seq"

// errCut is the error of a request whose response was not awaited, on purpose.
var errCut = errors.New("cut off after it was sent")

// RoundTrip implements http.RoundTripper. It uses only the number of the request.
func (s *sender) RoundTrip(r *http.Request) (*http.Response, error) {
	n, err := strconv.ParseUint(r.Header.Get(sequenceHeader), 10, 64)
	if err != nil {
		return nil, fmt.Errorf("read the number of a request: %w", err)
	}
	status, body, err := s.send(r.Context(), n)
	if err != nil {
		return nil, err
	}
	return &http.Response{
		StatusCode: status, Status: strconv.Itoa(status) + " " + http.StatusText(status),
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Body: body, ContentLength: -1, Request: r,
	}, nil
}

func (s *sender) send(ctx context.Context, n uint64) (int, io.ReadCloser, error) {
	if s.plan.Dialect != "" {
		return s.sendDialect(ctx, n)
	}
	token, err := s.tokens[n%uint64(len(s.tokens))].Token(ctx)
	if err != nil {
		return 0, nil, err
	}
	x, err := s.conns.Get(ctx)
	if err != nil {
		return 0, nil, err
	}
	x.Buf = s.AppendRequest(x.Buf[:0], n, token)
	if s.plan.IsCut(n) {
		if err := x.Cut(); err != nil {
			return 0, nil, err
		}
		return 0, nil, errCut
	}
	return x.Do(ctx)
}
