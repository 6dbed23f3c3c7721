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

	"github.com/scoreboard/scoreboard/client/wire"
)

// maxResponse limits the size of a response. 500 receipts are far smaller.
const maxResponse = 4 << 20

// call describes an API request; each try builds a new one.
type call struct {
	op     string
	method string
	path   string
	query  url.Values
	// body returns the value to encode for a try; nil sends no body.
	body func(now time.Time) any
	// sign adds a signature to the headers.
	sign bool
	// once disables retries, because a second try could have a second effect.
	once    bool
	eventID string
}

// do sends the call, with retries, and decodes the response into out, which may be
// nil.
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
		if n >= c.attempts || k.once || !e.Temporary() || ctx.Err() != nil || e.RetryAfter > c.timeouts.retryAfterMax {
			return e
		}
		notifyRetryAfter(ctx, e)
		if err := sleep(ctx, e.RetryAfter+jitter(n-1, c.timeouts.retryBase, c.timeouts.retryCap)); err != nil {
			if e.Err == nil {
				e.Err = err // errors.Is finds why the retries ended
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
			return connectionError(fmt.Errorf("encode the request: %w", err))
		}
	}
	req, err := http.NewRequestWithContext(ctx, k.method, c.url(k.path, k.query).String(), bytes.NewReader(body))
	if err != nil {
		return connectionError(err)
	}
	if err := c.prepare(req); err != nil {
		return connectionError(err)
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
		return connectionError(err)
	}
	defer func() { _ = res.Body.Close() }()
	response, err := io.ReadAll(io.LimitReader(res.Body, maxResponse))
	if err != nil {
		return connectionError(fmt.Errorf("read the response: %w", err))
	}
	if res.StatusCode < 200 || res.StatusCode > 299 {
		return responseError(res, response, c.now())
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(response, out); err != nil {
		return connectionError(fmt.Errorf("decode the response: %w", err))
	}
	return nil
}

// prepare sets the headers of all requests, including those of streams.
func (c *Client) prepare(req *http.Request) error {
	req.Header.Set("User-Agent", c.userAgent)
	if c.trace != nil {
		if traceparent := c.trace(req.Context()); traceparent != "" {
			req.Header.Set("Traceparent", traceparent)
		}
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

// connectionError is an error without a response.
func connectionError(err error) *Error {
	return &Error{Code: wire.CodeUnavailable, Err: err}
}

// jitter is a random duration below base·2^n and limit. Full jitter keeps clients
// that failed together from retrying together.
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
