package loadgen

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/scoreboard/scoreboard/client"
)

// lasting is the token that a run was given. A server that mints tokens renews
// it, so that a run may outlive it.
type lasting struct {
	mint func(ctx context.Context, token string, r client.TokenRequest) (client.Token, error)

	mu      sync.Mutex
	token   string
	request client.TokenRequest // for another of its kind
	renewAt time.Time           // zero where it does not end, or nobody can tell
	ends    time.Time
}

// renewedLife is how long a renewed token is asked for.
const renewedLife = time.Hour

// renewAgain is how long after a renewal that broke the next is tried.
const renewAgain = time.Second

func newLasting(token string, mint func(context.Context, string, client.TokenRequest) (client.Token, error)) *lasting {
	l := &lasting{mint: mint, token: token}
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return l // not ours to read
	}
	var claims struct {
		User  string `json:"sub"`
		Scope string `json:"scope"`
		Ends  int64  `json:"exp"`
	}
	b, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil || json.Unmarshal(b, &claims) != nil || claims.Ends == 0 {
		return l
	}
	l.request = client.TokenRequest{UserID: claims.User, Scope: claims.Scope, TTL: renewedLife.String()}
	l.until(time.Unix(claims.Ends, 0))
	return l
}

// until notes when the token ends. It is renewed half a minute before, and at
// half of its time where that is short.
func (l *lasting) until(ends time.Time) {
	l.ends = ends
	l.renewAt = ends.Add(-min(30*time.Second, time.Until(ends)/2))
}

// Token implements client.TokenSource. One that cannot be renewed is used for
// as long as it lasts, and then the server says so.
func (l *lasting) Token(ctx context.Context) (string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.renewAt.IsZero() || time.Now().Before(l.renewAt) {
		return l.token, nil
	}
	t, err := l.mint(ctx, l.token, l.request)
	var e *client.Error
	switch {
	case err == nil:
	case errors.As(err, &e) && e.Status >= 400 && e.Status < 500 && e.Status != http.StatusTooManyRequests:
		l.renewAt = time.Time{} // nobody mints here
		return l.token, nil
	default:
		l.renewAt = time.Now().Add(renewAgain)
		return l.token, ctx.Err()
	}
	l.token = t.Token
	l.until(t.ExpiresAt)
	return l.token, nil
}
