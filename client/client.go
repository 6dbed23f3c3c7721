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
)

// Options says who calls and how. The zero value is an anonymous client that
// signs nothing.
type Options struct {
	// Token is sent as bearer token. TokenSource, when set, is asked for each
	// try instead.
	Token       string
	TokenSource TokenSource

	// KeyID and KeySecret sign writes. The secret is used as it was shown.
	KeyID     string
	KeySecret string

	// Attempts is the most tries of one call, 5 when 0; 1 never repeats.
	Attempts int
	// Timeout bounds one try, 10 s when 0. The context bounds the call.
	Timeout time.Duration

	// HTTP is used instead of a client of its own. Its transport's TLS, proxy
	// and dial settings also serve WebSockets when it is an *http.Transport.
	HTTP *http.Client
	// UserAgent goes into the server's audit trail; "scoreboard-go" when empty.
	UserAgent string
}

// Client speaks to one server.
type Client struct {
	base      *url.URL
	http      *http.Client
	own       bool // http was made here, so Close may let its connections go
	dialer    websocket.Dialer
	tokens    TokenSource
	signer    Signer
	attempts  int
	timeout   time.Duration
	userAgent string
	now       func() time.Time
	pace      pace

	life    context.Context // ends with Close
	end     context.CancelFunc
	watches sync.WaitGroup
}

// pace holds every wait of the client, so that tests can shorten them.
type pace struct {
	retryBase, retryCap time.Duration // between tries of a call
	retryAfterMax       time.Duration // a Retry-After beyond it ends the call
	pollMin, pollMax    time.Duration // between polls of a watch
	pollFor             time.Duration // first time on polling before live is tried again
	pollForCap          time.Duration
	silence             time.Duration // without a sign of life a stream is dead
	byeMax              time.Duration
}

var defaultPace = pace{
	retryBase: 200 * time.Millisecond, retryCap: 5 * time.Second, retryAfterMax: 30 * time.Second,
	pollMin: time.Second, pollMax: 3 * time.Second,
	pollFor: 5 * time.Second, pollForCap: time.Minute,
	silence: 75 * time.Second, // the server is heard from every 30 s
	byeMax:  30 * time.Second,
}

// New returns a client of the server at base, such as
// "https://scores.example.com". It connects to nothing yet.
func New(base string, o Options) (*Client, error) {
	u, err := url.Parse(base)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("the server's address %q is not of the form http://host:port", base)
	}
	u.Path = strings.TrimSuffix(u.Path, "/")
	u.RawQuery, u.Fragment = "", ""
	if (o.KeyID == "") != (o.KeySecret == "") {
		return nil, fmt.Errorf("a signing key needs both its id and its secret")
	}
	c := &Client{
		base: u, http: o.HTTP, tokens: o.TokenSource,
		signer:   Signer{KeyID: o.KeyID, Secret: o.KeySecret},
		attempts: o.Attempts, timeout: o.Timeout, userAgent: o.UserAgent,
		now: time.Now, pace: defaultPace,
	}
	c.life, c.end = context.WithCancel(context.Background())
	if c.tokens == nil && o.Token != "" {
		c.tokens = StaticToken(o.Token)
	}
	if c.http == nil {
		t := http.DefaultTransport.(*http.Transport).Clone()
		t.MaxIdleConnsPerHost = 64
		c.http, c.own = &http.Client{Transport: t}, true
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
		c.userAgent = "scoreboard-go"
	}
	return c, nil
}

// dialerOf makes WebSockets by the settings of an HTTP client. They are taken
// from a copy of its transport, because the first request changes the original.
func dialerOf(h *http.Client) websocket.Dialer {
	d := websocket.Dialer{Proxy: http.ProxyFromEnvironment}
	t, ok := h.Transport.(*http.Transport)
	if !ok {
		return d
	}
	t = t.Clone()
	d.Proxy, d.NetDialContext, d.TLSClientConfig = t.Proxy, t.DialContext, t.TLSClientConfig
	if d.TLSClientConfig != nil {
		d.TLSClientConfig.NextProtos = nil // a WebSocket cannot be made over HTTP/2
	}
	return d
}

// Close ends the watches, waits until they have, and lets idle connections go:
// nothing of the client runs after it. Calls in flight end by their contexts.
func (c *Client) Close() {
	c.end()
	c.watches.Wait()
	if c.own {
		c.http.CloseIdleConnections()
	}
}

// url of an escaped path below the base, with a query. The path is not
// cleaned: ".." is a lawful user id.
func (c *Client) url(path string, query url.Values) *url.URL {
	u := *c.base
	u.RawPath = c.base.EscapedPath() + path
	u.Path, _ = url.PathUnescape(u.RawPath) // what is escaped here unescapes
	u.RawQuery = query.Encode()
	return &u
}
