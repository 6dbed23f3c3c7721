package client

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
)

// TokenSource supplies the bearer token of each try. It must be safe for concurrent
// use and do its own caching.
type TokenSource interface {
	Token(ctx context.Context) (string, error)
}

// StaticToken is a token that never changes.
type StaticToken string

// Token returns the token.
func (t StaticToken) Token(context.Context) (string, error) { return string(t), nil }

// renewBefore is how long before its expiry a token is replaced: longer than one
// try takes, so that no request is sent with a token about to expire.
const renewBefore = 30 * time.Second

// Renewing caches the token that fetch returns until shortly before it expires.
// One fetch runs at a time.
func Renewing(fetch func(context.Context) (token string, expires time.Time, err error)) TokenSource {
	return &renewingToken{fetch: fetch}
}

type renewingToken struct {
	fetch   func(context.Context) (string, time.Time, error)
	mu      sync.Mutex
	token   string
	expires time.Time
}

func (r *renewingToken) Token(ctx context.Context) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.token != "" && time.Until(r.expires) > renewBefore {
		return r.token, nil
	}
	token, expires, err := r.fetch(ctx)
	if err != nil {
		return "", fmt.Errorf("renew the token: %w", err)
	}
	r.token, r.expires = token, expires
	return token, nil
}

// Signer signs writes with a key. The zero value does not sign.
type Signer struct {
	KeyID  string
	Secret string

	// Prefix is the escaped path of the server's address. A proxy removes it, so that it is
	// not signed.
	Prefix string
}

// Fields signs an increment with the field scheme: it sets the timestamp, the key
// id and the signature.
func (s Signer) Fields(r *wire.IncrementRequest, now time.Time) {
	r.Timestamp = now.UTC().Format(time.RFC3339)
	if s.KeyID == "" {
		return
	}
	r.KeyID = s.KeyID
	r.Signature = wire.Sign(s.Secret, r.FieldText())
}

// Headers signs a request and its body with the header scheme.
func (s Signer) Headers(r *http.Request, body []byte, now time.Time) {
	if s.KeyID == "" {
		return
	}
	timestamp := strconv.FormatInt(now.Unix(), 10)
	text := wire.HeaderText(r.Method, strings.TrimPrefix(r.URL.RequestURI(), s.Prefix), s.KeyID, timestamp, body)
	r.Header.Set(wire.HeaderKey, s.KeyID)
	r.Header.Set(wire.HeaderTimestamp, timestamp)
	r.Header.Set(wire.HeaderSignature, wire.SignatureVersion+wire.Sign(s.Secret, text))
}

// JoinTicket lets a browser join the stream of a board: Token goes into the query of
// /v1/realtime/leaderboard and is valid until ExpiresAt.
type JoinTicket = wire.JoinTicket

// RealtimeToken creates a ticket for the token's user and a board (global when
// empty). It is for a page's WebSocket or EventSource, which cannot send a bearer
// token, and is valid once, for that board only. Watch does not need one.
func (c *Client) RealtimeToken(ctx context.Context, board string) (JoinTicket, error) {
	var ticket JoinTicket
	err := c.do(ctx, call{
		op: "create a join ticket", method: http.MethodGet, path: "/v1/realtime/token", query: boardQuery(board),
	}, &ticket)
	return ticket, err
}
