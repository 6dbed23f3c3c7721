package loadgen

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"time"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/loadgen/record"
	"github.com/scoreboard/scoreboard/loadgen/verify"
)

// session makes the requests to the server that are not part of the load.
type session struct {
	options *Options
	web     *http.Client
	client  *client.Client
	given   *renewingToken
	writer  string // prefix of the users whose tokens the load uses
	mints   bool   // the server mints tokens for the given one
}

// newSession connects to the server. It fails if the server cannot be reached.
func newSession(ctx context.Context, o *Options) (*session, error) {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = 2 * verify.Lookups
	s := &session{options: o, web: client.NewHTTP(transport), writer: o.Plan.Prefix + "loadgen"}
	s.given = newRenewingToken(o.Server.Token,
		func(ctx context.Context, token string, r client.TokenRequest) (client.Token, error) {
			c, err := s.clientWith(client.StaticToken(token))
			if err != nil {
				return client.Token{}, err
			}
			return c.MintToken(ctx, r)
		})
	var err error
	if s.client, err = s.clientWith(s.given); err != nil {
		return nil, err
	}
	_, err = s.client.MintToken(ctx, client.TokenRequest{UserID: s.writer, Scope: "score:update"})
	s.mints = err == nil
	if err := unreachable(err); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (s *session) close() { s.web.CloseIdleConnections() }

func (s *session) clientWith(tokens client.TokenSource) (*client.Client, error) {
	server := s.options.Server
	return client.New(server.URL, client.Options{
		TokenSource: tokens,
		KeyID:       server.KeyID,
		KeySecret:   server.KeySecret,
		HTTP:        s.web,
		UserAgent:   "scoreboard-loadgen",
	})
}

// backlog sets in t what waits to be published and to be consumed, and reports
// whether any of it is known.
func (s *session) backlog(ctx context.Context, t *record.Tick) (known bool) {
	if s.mints { // reading the outbox needs the same scope
		if o, err := s.client.Outbox(ctx); err == nil {
			known = true
			for _, shard := range o.Shards {
				t.OutboxDepth += shard.Depth
				t.OldestMS = max(t.OldestMS, shard.OldestAgeMS)
			}
		}
	}
	if s.options.Ops == "" {
		return known
	}
	if text, err := scrape(ctx, s.web, s.options.Ops); err == nil {
		known = true
		t.Lag = sumMetric(text, "scoreboard_broker_lag_records")
	}
	return known
}

// unreachable returns an error that is not a response of the server.
func unreachable(err error) error {
	var e *client.Error
	if err != nil && (!errors.As(err, &e) || e.Status == 0) {
		return err
	}
	return nil
}

// token is a user's token, renewed before it expires. An empty lifetime is the
// server's default.
func (s *session) token(user, scope, lifetime string) client.TokenSource {
	return client.Renewing(func(ctx context.Context) (string, time.Time, error) {
		t, err := s.client.MintToken(ctx, client.TokenRequest{UserID: user, Scope: scope, TTL: lifetime})
		return t.Token, t.ExpiresAt, err
	})
}

// ratePerToken is how many requests per second use one token: half of the server's
// limit.
const ratePerToken = 5000

// tokens are the tokens of the load. A server limits the updates of each token's
// user, so a high rate needs several.
func (r *run) tokens() []client.TokenSource {
	if !r.mints {
		return []client.TokenSource{r.given}
	}
	var tokens []client.TokenSource
	for i := range int(math.Ceil(r.Plan.Schedule.Mean() * (1 + r.Plan.Reads) / ratePerToken)) {
		tokens = append(tokens, r.token(fmt.Sprintf("%s-%d", r.writer, i), "score:update", ""))
	}
	return tokens
}
