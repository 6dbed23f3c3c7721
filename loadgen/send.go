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
	"github.com/scoreboard/scoreboard/loadgen/wire"
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
	composer
	tokens []client.TokenSource // taken in turn
	conns  *wire.Conns
}

func newSender(p *Plan, d *draw, s Server, tokens []client.TokenSource) (*sender, error) {
	base, err := url.Parse(strings.TrimSuffix(s.URL, "/"))
	if err != nil {
		return nil, err
	}
	conns, err := wire.New(base, timeout)
	if err != nil {
		return nil, err
	}
	return &sender{composer: newComposer(p, d, s, base), tokens: tokens, conns: conns}, nil
}

// number is the header in which vegeta says which request this is.
const number = "X-Vegeta-Seq"

// errCut is the failure of a request that was cut on purpose.
var errCut = errors.New("cut after it was sent")

// RoundTrip implements http.RoundTripper. What comes in has nothing but the
// number of the request.
func (s *sender) RoundTrip(r *http.Request) (*http.Response, error) {
	n, err := strconv.ParseUint(r.Header.Get(number), 10, 64)
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
	token, err := s.tokens[n%uint64(len(s.tokens))].Token(ctx)
	if err != nil {
		return 0, nil, err
	}
	x, err := s.conns.Get(ctx)
	if err != nil {
		return 0, nil, err
	}
	x.Buf = s.request(x.Buf[:0], n, token)
	if s.plan.cuts(n) {
		if err := x.Cut(); err != nil {
			return 0, nil, err
		}
		return 0, nil, errCut
	}
	return x.Do(ctx)
}
