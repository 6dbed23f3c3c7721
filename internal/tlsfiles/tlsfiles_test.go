package tlsfiles_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/scoreboard/scoreboard/internal/test/fixtures"
	"github.com/scoreboard/scoreboard/internal/tlsfiles"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// serve answers each connection with the name of the client's certificate.
func serve(t *testing.T, config *tls.Config) (port string) {
	t.Helper()
	l, err := tls.Listen("tcp", "127.0.0.1:0", config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = c.Close() }()
				if c.(*tls.Conn).HandshakeContext(t.Context()) != nil {
					return
				}
				if peers := c.(*tls.Conn).ConnectionState().PeerCertificates; len(peers) > 0 {
					_, _ = io.WriteString(c, peers[0].Subject.CommonName)
				}
			}()
		}
	}()
	_, port, err = net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

func write(t *testing.T, path string, text []byte) string {
	t.Helper()
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func server(t *testing.T, own, clients *fixtures.CertificatePair, ask tls.ClientAuthType) *tls.Config {
	t.Helper()
	pair, err := tls.X509KeyPair(own.CertPEM, own.KeyPEM)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(clients.CertPEM)
	return &tls.Config{
		MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}, ClientCAs: pool, ClientAuth: ask,
	}
}

// dial connects and reads what the server says.
func dial(t *testing.T, c *tlsfiles.Client, address string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	conn, err := c.Dial(ctx, "tcp", address)
	if err != nil {
		return "", err
	}
	defer func() { _ = conn.Close() }()
	text, err := io.ReadAll(conn)
	return string(text), err
}

func TestFilesAreReloaded(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ca, next := fixtures.IssueCertificate(t, "ca", nil), fixtures.IssueCertificate(t, "next ca", nil)
	one, two := fixtures.IssueCertificate(t, "one", ca), fixtures.IssueCertificate(t, "two", ca)
	files := tlsfiles.Files{
		CA:   write(t, filepath.Join(dir, "ca.pem"), ca.CertPEM),
		Cert: write(t, filepath.Join(dir, "cert.pem"), one.CertPEM),
		Key:  write(t, filepath.Join(dir, "key.pem"), one.KeyPEM),
	}
	c, err := tlsfiles.New("kafka.tls", files, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	at := func(by *fixtures.CertificatePair) (address string) {
		own := fixtures.IssueCertificate(t, "localhost", by)
		return "localhost:" + serve(t, server(t, own, ca, tls.RequireAndVerifyClientCert))
	}
	old, moved := at(ca), at(next)
	if name, err := dial(t, c, old); name != "one" || err != nil {
		t.Fatalf("got %q, %v, want to be one", name, err)
	}
	write(t, files.Key, []byte("half a file"))
	write(t, files.CA, next.CertPEM)
	time.Sleep(3 * time.Second) // longer than the interval: the files are invalid together
	if name, err := dial(t, c, old); name != "one" || err != nil {
		t.Errorf("with an invalid key: got %q, %v, want the previous files in use", name, err)
	}
	write(t, files.Cert, two.CertPEM)
	write(t, files.Key, two.KeyPEM)
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		name, err := dial(t, c, moved)
		if name == "two" && err == nil {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("got %q, %v, want to be two", name, err)
		}
	}
	pair, err := tls.X509KeyPair(two.CertPEM, two.KeyPEM)
	if err != nil {
		t.Fatal(err)
	}
	metrics := make(chan prometheus.Metric, 1)
	c.Collectors()[0].Collect(metrics)
	var expires dto.Metric
	if err := (<-metrics).Write(&expires); err != nil {
		t.Fatal(err)
	}
	if got, want := expires.Gauge.GetValue(), float64(pair.Leaf.NotAfter.Unix()); got != want {
		t.Errorf("the metric says that the certificate expires at %.0f, want %.0f", got, want)
	}
	if _, err := dial(t, c, old); !errors.As(err, new(x509.UnknownAuthorityError)) {
		t.Errorf("a server of the former authority: got %v, want it unknown", err)
	}
}

func TestErrorsNameTheSettings(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ca, other := fixtures.IssueCertificate(t, "ca", nil), fixtures.IssueCertificate(t, "other", nil)
	own, foreign := fixtures.IssueCertificate(t, "client", ca), fixtures.IssueCertificate(t, "client", other)
	expired := fixtures.IssueCertificateUntil(t, "client", ca, time.Now().Add(-time.Minute))
	file := func(name string, text []byte) string { return write(t, filepath.Join(dir, name), text) }
	caFile := file("ca.pem", ca.CertPEM)
	good := tlsfiles.Files{CA: caFile, Cert: file("own.pem", own.CertPEM), Key: file("own.key", own.KeyPEM)}
	plain, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = plain.Close() })
	go func() {
		for {
			c, err := plain.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(c, "-ERR what is this\r\n")
			_ = c.Close()
		}
	}()
	strict := serve(t, server(t, fixtures.IssueCertificate(t, "localhost", ca), ca, tls.RequireAndVerifyClientCert))
	ended := fixtures.IssueCertificateUntil(t, "localhost", ca, time.Now().Add(-time.Minute))
	late := server(t, ended, ca, tls.NoClientCert)
	strict = "localhost:" + strict
	const unknown = "kafka.tls_ca: the server's certificate is signed by an unknown authority"
	const rejects = "kafka.tls_cert: the server rejects this client"
	foreignKey := file("foreign.key", foreign.KeyPEM)
	cases := map[string]struct {
		files         tlsfiles.Files
		address, want string
	}{
		"no such file": {tlsfiles.Files{CA: filepath.Join(dir, "none")}, "", "kafka.tls_ca: cannot read the file: "},
		"no certificate": {
			tlsfiles.Files{CA: good.Key},
			"",
			"kafka.tls_ca: " + good.Key + " contains no certificate",
		},
		"another key": {
			tlsfiles.Files{Cert: good.Cert, Key: foreignKey},
			"",
			"kafka.tls_cert: not a certificate with its key: ",
		},
		"expired": {
			tlsfiles.Files{Cert: file("expired.pem", expired.CertPEM), Key: file("expired.key", expired.KeyPEM)},
			"",
			"kafka.tls_cert: the certificate in ",
		},
		"unknown authority":    {tlsfiles.Files{CA: file("other.pem", other.CertPEM)}, strict, unknown},
		"system's authorities": {tlsfiles.Files{}, strict, unknown},
		"another name":         {good, strings.Replace(strict, "localhost", "127.0.0.1", 1), "kafka.tls_ca: x509: "},
		"server's has expired": {
			good, "localhost:" + serve(t, late),
			"kafka.tls_ca: the server's certificate is valid from ",
		},
		"no client certificate": {tlsfiles.Files{CA: caFile}, strict, rejects},
		"foreign client certificate": {
			tlsfiles.Files{CA: caFile, Cert: file("foreign.pem", foreign.CertPEM), Key: foreignKey}, strict, rejects,
		},
		"no TLS": {good, plain.Addr().String(), "kafka.tls: the server's port does not use TLS"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, err := tlsfiles.New("kafka.tls", tc.files, slog.New(slog.DiscardHandler))
			if err == nil && tc.address != "" {
				_, err = dial(t, c, tc.address)
			}
			var setup *scoreboard.SetupError
			if !errors.As(err, &setup) || !strings.HasPrefix(setup.Error(), tc.want) ||
				strings.Contains(setup.Error(), "\n") {
				t.Errorf("got %v, want one line with %q", err, tc.want)
			}
		})
	}
}
