package client

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	"github.com/scoreboard/scoreboard/internal/buildinfo"
)

// Options configure a client. The zero value is an anonymous client that does not
// sign.
type Options struct {
	// Token is sent as bearer token. TokenSource, if set, supplies the token of each
	// try instead.
	Token       string
	TokenSource TokenSource

	// KeyID and KeySecret sign writes. The secret is used exactly as it was shown.
	KeyID     string
	KeySecret string

	// Attempts is the maximum number of tries of a call; 0 means 5.
	Attempts int
	// Timeout limits one try; 0 means 10 s. The context limits the call.
	Timeout time.Duration

	// HTTP replaces the default HTTP client. If its transport is an *http.Transport,
	// WebSockets use its TLS, proxy and dial settings, too.
	HTTP *http.Client
	// UserAgent is recorded in the server's audit trail; empty means "scoreboard-go/VERSION".
	UserAgent string

	// Traceparent returns the W3C traceparent with which each try continues the trace in
	// a call's context; "" for none. nil sends none.
	Traceparent func(context.Context) string
}

// Client is a client of one server.
type Client struct {
	base      *url.URL
	http      *http.Client
	own       bool // Close closes idle connections only of a client created here
	dialer    websocket.Dialer
	tokens    TokenSource
	signer    Signer
	attempts  int
	timeout   time.Duration
	userAgent string
	trace     func(context.Context) string // nil: none
	now       func() time.Time
	timeouts  timeouts

	lifetime context.Context // ends with Close
	end      context.CancelFunc
	watches  sync.WaitGroup
}

// timeouts are the client's waits, which tests shorten.
type timeouts struct {
	retryBase, retryCap time.Duration // between tries of a call
	retryAfterMax       time.Duration // a longer Retry-After ends the call
	queued              time.Duration // for the outcome of an increment that the server has queued
	lookupMin           time.Duration // between look-ups of its outcome, at first
	lookupMax           time.Duration
	pollMin, pollMax    time.Duration // between polls of a watch
	pollFor             time.Duration // on polling before streams are tried again, at first
	pollForCap          time.Duration
	maxSilence          time.Duration // after which a stream counts as dead
	maxReconnectAfter   time.Duration
	acceptLower         time.Duration // how long only lower epochs arrive before a watch shows one
}

var defaultTimeouts = timeouts{
	retryBase: 200 * time.Millisecond, retryCap: 5 * time.Second, retryAfterMax: 30 * time.Second,
	queued: 30 * time.Second, lookupMin: 50 * time.Millisecond, lookupMax: 2 * time.Second,
	pollMin: time.Second, pollMax: 3 * time.Second,
	pollFor: 5 * time.Second, pollForCap: time.Minute,
	maxSilence:        75 * time.Second, // the server sends a heartbeat every 30 s
	maxReconnectAfter: 30 * time.Second,
	acceptLower:       5 * time.Second, // longer than a server shows the epoch before a rebuild
}

// New returns a client of the server at base, such as
// "https://scores.example.com". It does not connect yet.
func New(base string, o Options) (*Client, error) {
	u, err := url.Parse(base)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("invalid server address %q: must be of the form http://host:port", base)
	}
	u.Path = strings.TrimSuffix(u.Path, "/")
	u.RawQuery, u.Fragment = "", ""
	if (o.KeyID == "") != (o.KeySecret == "") {
		return nil, fmt.Errorf("a signing key requires both its id and its secret")
	}
	c := &Client{
		base: u, http: o.HTTP, tokens: o.TokenSource,
		signer:   Signer{KeyID: o.KeyID, Secret: o.KeySecret, Prefix: u.EscapedPath()},
		attempts: o.Attempts, timeout: o.Timeout, userAgent: o.UserAgent,
		trace: o.Traceparent,
		now:   time.Now, timeouts: defaultTimeouts,
	}
	c.lifetime, c.end = context.WithCancel(context.Background())
	if c.tokens == nil && o.Token != "" {
		c.tokens = StaticToken(o.Token)
	}
	if c.http == nil {
		t := http.DefaultTransport.(*http.Transport).Clone()
		t.MaxIdleConnsPerHost = 64
		c.http, c.own = NewHTTP(t), true
	}
	c.dialer = dialerOf(c.http)
	if c.attempts <= 0 {
		c.attempts = 5
	}
	if c.timeout <= 0 {
		c.timeout = 10 * time.Second
	}
	c.dialer.HandshakeTimeout = c.timeout
	if c.userAgent == "" {
		c.userAgent = "scoreboard-go/" + buildinfo.Release
	}
	return c, nil
}

// NewHTTP returns an HTTP client that follows no redirects: the API does not redirect, and
// another server must not get the token.
func NewHTTP(t http.RoundTripper) *http.Client {
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &http.Client{Transport: t, CheckRedirect: stay}
}

// dialerOf returns a WebSocket dialer with the settings of an HTTP client. It reads
// them from a copy of the transport, because the first request changes the
// original.
func dialerOf(h *http.Client) websocket.Dialer {
	d := websocket.Dialer{Proxy: http.ProxyFromEnvironment}
	t, ok := h.Transport.(*http.Transport)
	if !ok {
		return d
	}
	t = t.Clone()
	d.Proxy, d.NetDialContext, d.TLSClientConfig = t.Proxy, t.DialContext, t.TLSClientConfig
	if d.TLSClientConfig != nil {
		d.TLSClientConfig.NextProtos = nil // WebSockets need HTTP/1.1
	}
	return d
}

// Close stops the watches, waits for them and closes idle connections. Calls in
// flight end with their own contexts.
func (c *Client) Close() {
	c.end()
	c.watches.Wait()
	if c.own {
		c.http.CloseIdleConnections()
	}
}

// url joins an escaped path and a query to the base. It does not clean the path:
// ".." is a valid user id.
func (c *Client) url(path string, query url.Values) *url.URL {
	u := *c.base
	u.RawPath = c.base.EscapedPath() + path
	u.Path, _ = url.PathUnescape(u.RawPath) // the client escaped it, so it unescapes
	u.RawQuery = query.Encode()
	return &u
}
