package edge

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/scoreboard/scoreboard/internal/filewatch"
)

// Files are the paths of PEM files. Without ClientCA, clients are not asked for a
// certificate.
type Files struct{ Cert, Key, ClientCA string }

// Certificates are the current TLS settings of a port.
type Certificates struct {
	files   Files
	log     *slog.Logger
	seen    filewatch.Sum
	current atomic.Pointer[tls.Config]
	peers   peers
}

// NewCertificates reads the files; Run reloads them.
func NewCertificates(files Files, log *slog.Logger) (*Certificates, error) {
	c := &Certificates{files: files, log: log, peers: peers{conns: make(map[*conn]peer)}}
	if _, err := c.load(); err != nil {
		return nil, err
	}
	return c, nil
}

// Collectors returns the metrics, for registration.
func (c *Certificates) Collectors() []prometheus.Collector {
	return []prometheus.Collector{prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "scoreboard_tls_certificate_expiry_timestamp_seconds",
		Help: "When the certificate of the API expires, in Unix seconds.",
	}, func() float64 { return float64(c.current.Load().Certificates[0].Leaf.NotAfter.Unix()) })}
}

// Config is for a server on what Listen returns. Each connection uses the settings
// current at its start.
func (c *Certificates) Config() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
			return c.peers.watch(hello.Conn, c.current.Load()), nil
		},
	}
}

// Listen returns a listener for the same port. Of its connections, Run closes those
// whose client certificate has become invalid.
func (c *Certificates) Listen(l net.Listener) net.Listener {
	if c.files.ClientCA == "" {
		return l
	}
	return listener{l, &c.peers}
}

// Run reloads changed files until ctx ends, and closes the connections of clients whose
// certificate has expired or whose authority was removed, within seconds of it.
func (c *Certificates) Run(ctx context.Context) error {
	return filewatch.Run(ctx, "certificates", func() (changed bool, err error) {
		changed, err = c.load()
		if n := c.peers.closeInvalid(c.current.Load(), time.Now()); n > 0 {
			c.log.Warn("connections closed: their client certificates are no longer valid", "connections", n)
		}
		return changed, err
	}, c.log)
}

// load reads the files and uses them if they have changed.
func (c *Certificates) load() (changed bool, err error) {
	texts, sum, err := filewatch.Read(c.files.Cert, c.files.Key, c.files.ClientCA)
	if err != nil {
		return false, fmt.Errorf("read a certificate: %w", err)
	}
	if sum == c.seen {
		return false, nil
	}
	own, err := tls.X509KeyPair(texts[0], texts[1])
	if err != nil {
		return false, fmt.Errorf("read the certificate: %w", err)
	}
	config := &tls.Config{
		MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{own}, NextProtos: []string{"h2", "http/1.1"},
		CipherSuites: []uint16{ // of TLS 1.2; all of 1.3 are secure
			tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
			tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
			tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, tls.TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
		},
	}
	if c.files.ClientCA != "" {
		config.ClientCAs = x509.NewCertPool()
		if !config.ClientCAs.AppendCertsFromPEM(texts[2]) {
			return false, errors.New("read the client CA: the file contains no certificate")
		}
		config.ClientAuth = tls.VerifyClientCertIfGiven
		config.SessionTicketsDisabled = true // a session ticket would outlive a removed CA
	}
	c.seen = sum
	c.current.Store(config)
	return true, nil
}
