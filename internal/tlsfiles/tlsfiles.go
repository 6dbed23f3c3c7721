// Package tlsfiles makes the TLS connections of a client from PEM files, and reloads
// the files when they change.
//
// Promise: a new connection uses the files as they are, and verifies the server. Files
// that cannot be read leave the previous ones in use. Owner: the server runs each
// Client. On failure it logs and retries.
package tlsfiles

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/scoreboard/scoreboard/internal/filewatch"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Files are the paths of PEM files. CA verifies the server; without it the system's
// authorities do. Cert and Key identify this client, and are set together or not at all.
type Files struct{ CA, Cert, Key string }

// Any reports whether a file is set.
func (f Files) Any() bool { return f != Files{} }

// Client makes TLS connections to one backend.
type Client struct {
	setting string
	files   Files
	log     *slog.Logger
	seen    filewatch.Sum
	current atomic.Pointer[tls.Config]
	expires atomic.Int64 // of the client certificate, in Unix seconds; 0 without one
}

// New reads the files. setting is what the names of their settings begin with, such as
// "kafka.tls": errors name them. Run reloads the files.
func New(setting string, files Files, log *slog.Logger) (*Client, error) {
	c := &Client{setting: setting, files: files, log: log}
	if _, err := c.load(); err != nil {
		return nil, err
	}
	return c, nil
}

// Run reloads changed files until ctx ends. Open connections stay open.
func (c *Client) Run(ctx context.Context) error {
	if !c.files.Any() {
		<-ctx.Done()
		return nil
	}
	return filewatch.Run(ctx, "files of "+c.setting, c.load, c.log)
}

// Collectors returns the metrics, for registration: none without a client certificate.
func (c *Client) Collectors() []prometheus.Collector {
	if c.files.Cert == "" {
		return nil
	}
	return []prometheus.Collector{prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name:        "scoreboard_tls_client_certificate_expiry_timestamp_seconds",
		Help:        "When the certificate with which this process connects to a backend expires, in Unix seconds.",
		ConstLabels: prometheus.Labels{"setting": c.setting + "_cert"},
	}, func() float64 { return float64(c.expires.Load()) })}
}

// Config returns the settings for one connection to a host, which the server's
// certificate must name. A later connection needs a Config of its own, because the files
// may have changed.
func (c *Client) Config(host string) *tls.Config {
	config := c.current.Load().Clone()
	config.ServerName = host
	return config
}

// Dial connects to an address of the form host:port within the context's deadline.
// Its errors about certificates, and those of the connection, are *scoreboard.SetupError.
func (c *Client) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	raw, err := (&net.Dialer{KeepAlive: keepAlive}).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	secured := tls.Client(raw, c.Config(host))
	if err := secured.HandshakeContext(ctx); err != nil {
		_ = raw.Close()
		if errors.Is(err, io.EOF) {
			return nil, noTLS(c.setting, err)
		}
		return nil, Explain(c.setting, err)
	}
	return &conn{secured, c.setting}, nil
}

const keepAlive = 30 * time.Second

// conn explains the server's rejection of a client certificate, which with TLS 1.3 the
// first read returns, or a later write.
type conn struct {
	*tls.Conn
	setting string
}

func (c *conn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	return n, Explain(c.setting, err)
}

func (c *conn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	return n, Explain(c.setting, err)
}

// wrong is the error of the setting with a suffix. err, if not nil, is part of the text.
func (c *Client) wrong(suffix string, err error, problem, fix string) error {
	if err != nil {
		problem = fmt.Sprintf("%s: %v", problem, err)
	}
	return &scoreboard.SetupError{Setting: c.setting + suffix, Problem: problem, Fix: fix, Err: err}
}

// load reads the files and uses them if they have changed.
func (c *Client) load() (changed bool, err error) {
	texts, sum, err := filewatch.Read(c.files.CA, c.files.Cert, c.files.Key)
	if unread := new(filewatch.ReadError); errors.As(err, &unread) {
		suffix := []string{"_ca", "_cert", "_key"}[unread.Index]
		return false, c.wrong(suffix, unread.Err, "cannot read the file", "name a PEM file that this process may read")
	}
	if c.current.Load() != nil && sum == c.seen {
		return false, nil
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if c.files.CA != "" {
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(texts[0]) {
			return false, c.wrong("_ca", nil, c.files.CA+" contains no certificate", "name a PEM file")
		}
	}
	if c.files.Cert != "" {
		own, err := tls.X509KeyPair(texts[1], texts[2])
		if err != nil { // it never quotes the key
			return false, c.wrong("_cert", err, "not a certificate with its key", "name PEM files of one pair")
		}
		if end := own.Leaf.NotAfter; time.Now().After(end) {
			problem := fmt.Sprintf("the certificate in %s expired at %s", c.files.Cert, end.UTC().Format(time.RFC3339))
			return false, c.wrong("_cert", nil, problem, "renew it")
		}
		c.expires.Store(own.Leaf.NotAfter.Unix())
		// Unlike Certificates, this presents it even to a server that names other authorities,
		// which then says so instead of asking for a certificate.
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &own, nil }
	}
	c.seen = sum
	c.current.Store(config)
	return true, nil
}
