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
)

// session is what talks to the server beside the load.
type session struct {
	options *Options
	web     *http.Client
	client  *client.Client
	given   *lasting
	writer  string // in whose names the tokens of the load are minted
	minted  bool   // the server mints tokens for us
}

// newSession gets in, or says that there is no server.
func newSession(ctx context.Context, o *Options) (*session, error) {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = 2 * lookups
	s := &session{options: o, web: &http.Client{Transport: transport}, writer: o.Plan.Prefix + "loadgen"}
	s.given = newLasting(o.Server.Token, func(ctx context.Context, token string, ask client.TokenRequest) (client.Token, error) {
		c, err := s.clientOf(client.StaticToken(token))
		if err != nil {
			return client.Token{}, err
		}
		return c.MintToken(ctx, ask)
	})
	var err error
	if s.client, err = s.clientOf(s.given); err != nil {
		return nil, err
	}
	_, err = s.client.MintToken(ctx, client.TokenRequest{UserID: s.writer, Scope: "score:update"})
	s.minted = err == nil
	if err := unreachable(err); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (s *session) close() { s.web.CloseIdleConnections() }

func (s *session) clientOf(tokens client.TokenSource) (*client.Client, error) {
	server := s.options.Server
	return client.New(server.URL, client.Options{
		TokenSource: tokens, KeyID: server.KeyID, KeySecret: server.KeySecret, HTTP: s.web, UserAgent: "scoreboard-loadgen",
	})
}

// look asks what waits to be published and to be consumed, and says whether
// anybody told.
func (s *session) look(ctx context.Context, t *record.Tick) (known bool) {
	if s.minted { // the outbox is the operators'
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
		t.Lag = sumOf(text, "scoreboard_broker_lag_records")
	}
	return known
}

// unreachable is an error that says that there is no server; that it does not
// mint tokens is none.
func unreachable(err error) error {
	var e *client.Error
	if err != nil && (!errors.As(err, &e) || e.Status == 0) {
		return err
	}
	return nil
}

// token is a user's own, renewed before it ends: in a while of the server's
// choice, or in a life.
func (s *session) token(user, scope, life string) client.TokenSource {
	return client.Renewing(func(ctx context.Context) (string, time.Time, error) {
		t, err := s.client.MintToken(ctx, client.TokenRequest{UserID: user, Scope: scope, TTL: life})
		return t.Token, t.ExpiresAt, err
	})
}

// perToken is how many increments a second go under one token: half of what a
// server may do.
const perToken = 5000

// tokens are those of the load, for the limit on a server's updates is by
// token's user.
func (r *run) tokens() []client.TokenSource {
	if !r.minted {
		return []client.TokenSource{r.given}
	}
	var tokens []client.TokenSource
	for i := range int(math.Ceil(r.Plan.Pace.Mean() * (1 + r.Plan.Reads) / perToken)) {
		tokens = append(tokens, r.token(fmt.Sprintf("%s-%d", r.writer, i), "score:update", ""))
	}
	return tokens
}
