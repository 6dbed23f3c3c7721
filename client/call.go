package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"time"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// maxAnswer bounds what is read of an answer: far above 500 receipts.
const maxAnswer = 4 << 20

// call is one request of the API, made anew for each try.
type call struct {
	op     string
	method string
	path   string
	query  url.Values
	// body makes the JSON of a try; nil has none.
	body func(now time.Time) any
	// sign says that the request is signed in its headers.
	sign bool
	// once says that a second try could have a second effect.
	once    bool
	eventID string
}

// do makes the call until it is answered for good, and decodes the answer into
// out, which may be nil.
func (c *Client) do(ctx context.Context, k call, out any) error {
	for n := 1; ; n++ {
		e := c.try(ctx, k, out)
		if e == nil {
			return nil
		}
		e.Op, e.Attempts = k.op, n
		if e.EventID == "" {
			e.EventID = k.eventID
		}
		if n >= c.attempts || k.once || !e.Temporary() || ctx.Err() != nil || e.RetryAfter > c.pace.retryAfterMax {
			return e
		}
		tellWait(ctx, e)
		if err := sleep(ctx, e.RetryAfter+jitter(n-1, c.pace.retryBase, c.pace.retryCap)); err != nil {
			if e.Err == nil {
				e.Err = err // the refusal stays readable, and errors.Is finds why it ended
			}
			return e
		}
	}
}

func (c *Client) try(ctx context.Context, k call, out any) *Error {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	var body []byte
	if k.body != nil {
		var err error
		if body, err = json.Marshal(k.body(c.now())); err != nil {
			return broken(fmt.Errorf("encode the request: %w", err))
		}
	}
	req, err := http.NewRequestWithContext(ctx, k.method, c.url(k.path, k.query).String(), bytes.NewReader(body))
	if err != nil {
		return broken(err)
	}
	if err := c.prepare(req); err != nil {
		return broken(err)
	}
	req.Header.Set("Accept", "application/json")
	if k.body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if k.sign {
		c.signer.Headers(req, body, c.now())
	}
	res, err := c.http.Do(req)
	if err != nil {
		return broken(err)
	}
	defer func() { _ = res.Body.Close() }()
	answer, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil {
		return broken(fmt.Errorf("read the answer: %w", err))
	}
	if res.StatusCode < 200 || res.StatusCode > 299 {
		return refusal(res, answer, c.now())
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(answer, out); err != nil {
		return broken(fmt.Errorf("decode the answer: %w", err))
	}
	return nil
}

// prepare sets what every request carries, streams included.
func (c *Client) prepare(req *http.Request) error {
	req.Header.Set("User-Agent", c.userAgent)
	if why := reason(req.Context()); why != "" {
		q := req.URL.Query()
		q.Set("reason", why)
		req.URL.RawQuery = q.Encode()
	}
	if c.tokens == nil {
		return nil
	}
	token, err := c.tokens.Token(req.Context())
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+token)
	return nil
}

// broken is an error without an answer.
func broken(err error) *Error {
	return &Error{Code: scoreboard.CodeUnavailable, Err: err}
}

// jitter is a random time below base·2^n and below limit: full jitter, so that
// clients that failed together do not come back together.
func jitter(n int, base, limit time.Duration) time.Duration {
	d := limit
	if n < 20 {
		d = min(base<<n, limit)
	}
	return rand.N(d) + 1
}

// sleep waits for d or for the end of ctx, whose error it returns.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
