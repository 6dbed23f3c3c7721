package edge_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/internal/test/fixtures"
	"github.com/scoreboard/scoreboard/server/http/edge"
)

// port serves the names of verified clients over TLS with certificates that reload.
func port(t *testing.T, files edge.Files) (url string, logs *bytes.Buffer) {
	t.Helper()
	logs = &bytes.Buffer{}
	c, err := edge.NewCertificates(files, slog.New(slog.NewTextHandler(logs, nil)))
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := "nobody"
		if len(r.TLS.VerifiedChains) > 0 {
			name = r.TLS.VerifiedChains[0][0].Subject.CommonName
		}
		if r.URL.Path == "/hijack" {
			c, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			_, _ = io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: test\r\n\r\n")
			_, _ = io.Copy(io.Discard, c)
			_ = c.Close()
			return
		}
		fmt.Fprintf(w, "%s %s", name, r.Proto)
		if r.URL.Path == "/stream" {
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}
	}))
	s.Listener = c.Listen(s.Listener)
	s.TLS = c.Config()
	s.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug)
	s.StartTLS()
	t.Cleanup(func() {
		s.Close()
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return s.URL, logs
}

// get opens a new connection and returns the server certificate's name and the answer.
func get(t *testing.T, url string, config *tls.Config) (server, answer string, err error) {
	t.Helper()
	transport := &http.Transport{TLSClientConfig: config, ForceAttemptHTTP2: true}
	defer transport.CloseIdleConnections()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := (&http.Client{Transport: transport, Timeout: 20 * time.Second}).Do(req)
	if err != nil {
		return "", "", err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	return resp.TLS.PeerCertificates[0].Subject.CommonName, string(body), err
}

func TestCertificatesAreReloaded(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	files := edge.Files{Cert: filepath.Join(dir, "cert.pem"), Key: filepath.Join(dir, "key.pem")}
	first, second := fixtures.IssueCertificate(t, "first", nil), fixtures.IssueCertificate(t, "second", nil)
	fixtures.WriteCertificate(t, files.Cert, first.CertPEM)
	fixtures.WriteCertificate(t, files.Key, first.KeyPEM)
	url, _ := port(t, files)
	anyone := func() *tls.Config { return &tls.Config{InsecureSkipVerify: true} }
	seen := func() string {
		name, answer, err := get(t, url, anyone())
		if err != nil || answer != "nobody HTTP/2.0" {
			t.Fatalf("got %q, %v", answer, err)
		}
		return name
	}
	if got := seen(); got != "first" {
		t.Fatalf("got %s", got)
	}
	fixtures.WriteCertificate(t, files.Cert, second.CertPEM) // its key follows
	time.Sleep(2500 * time.Millisecond)
	if got := seen(); got != "first" {
		t.Errorf("a certificate without its key is in use: %s", got)
	}
	fixtures.WriteCertificate(t, files.Key, second.KeyPEM)
	for deadline := time.Now().Add(30 * time.Second); seen() != "second"; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the second certificate is not in use after 30 s")
		}
	}
	old := anyone()
	old.MinVersion, old.MaxVersion = tls.VersionTLS10, tls.VersionTLS11
	if _, _, err := get(t, url, old); err == nil {
		t.Error("TLS 1.1 is accepted")
	}
	weak := anyone()
	weak.MaxVersion, weak.CipherSuites = tls.VersionTLS12, []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA}
	if _, _, err := get(t, url, weak); err == nil {
		t.Error("a CBC cipher suite is accepted")
	}
	if _, err := edge.NewCertificates(
		edge.Files{Cert: files.Cert, Key: filepath.Join(dir, "none")},
		slog.New(slog.DiscardHandler),
	); err == nil {
		t.Error("a missing key file is accepted at the start")
	}
}

func TestClientCertificates(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	files := edge.Files{
		Cert:     filepath.Join(dir, "cert.pem"),
		Key:      filepath.Join(dir, "key.pem"),
		ClientCA: filepath.Join(dir, "ca.pem"),
	}
	own, authority, stranger := fixtures.IssueCertificate(
		t,
		"scoreboard",
		nil,
	), fixtures.IssueCertificate(
		t,
		"authority",
		nil,
	), fixtures.IssueCertificate(
		t,
		"stranger",
		nil,
	)
	fixtures.WriteCertificate(t, files.Cert, own.CertPEM)
	fixtures.WriteCertificate(t, files.Key, own.KeyPEM)
	fixtures.WriteCertificate(t, files.ClientCA, authority.CertPEM)
	url, _ := port(t, files)
	for name, c := range map[string]struct {
		client *fixtures.CertificatePair
		want   string
	}{
		"none":                 {nil, "nobody"},
		"by our authority":     {fixtures.IssueCertificate(t, "arena-1", authority), "arena-1"},
		"by another authority": {fixtures.IssueCertificate(t, "arena-1", stranger), ""},
		"self-signed":          {stranger, ""},
	} {
		_, answer, err := get(t, url, c.client.Client(t))
		if c.want == "" && err == nil || c.want != "" && (err != nil || !strings.HasPrefix(answer, c.want+" ")) {
			t.Errorf("%s: got %q, %v", name, answer, err)
		}
	}
}

// A kept connection ends when the client's certificate expires, or its authority is
// removed, whatever it is used for. Others stay.
func TestConnectionsEndWithCertificate(t *testing.T) {
	t.Parallel()
	for _, cause := range []string{"expired", "authority removed"} {
		t.Run(cause, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			files := edge.Files{
				Cert: filepath.Join(dir, "cert.pem"), Key: filepath.Join(dir, "key.pem"),
				ClientCA: filepath.Join(dir, "ca.pem"),
			}
			own := fixtures.IssueCertificate(t, "scoreboard", nil)
			first, second := fixtures.IssueCertificate(t, "first", nil), fixtures.IssueCertificate(t, "second", nil)
			fixtures.WriteCertificate(t, files.Cert, own.CertPEM)
			fixtures.WriteCertificate(t, files.Key, own.KeyPEM)
			fixtures.WriteCertificate(t, files.ClientCA, slices.Concat(first.CertPEM, second.CertPEM))
			url, _ := port(t, files)

			ends := time.Now().Add(time.Hour)
			if cause == "expired" {
				ends = time.Now().Add(5 * time.Second)
			}
			leaving := fixtures.IssueCertificateUntil(t, "leaving", first, ends)
			staying := fixtures.IssueCertificate(t, "staying", second)
			kept := map[string]*keptConn{
				"HTTP/1.1": keep(t, url, leaving, "/", false), "HTTP/2": keep(t, url, leaving, "/", true),
				"stream": keep(t, url, leaving, "/stream", true), "hijacked": keep(t, url, leaving, "/hijack", false),
			}
			others := map[string]*keptConn{
				"another certificate": keep(t, url, staying, "/stream", true),
				"no certificate":      keep(t, url, nil, "/stream", false),
			}
			if cause != "expired" {
				fixtures.WriteCertificate(t, files.ClientCA, second.CertPEM)
			}
			for name, c := range kept {
				select {
				case <-c.closed:
				case <-time.After(20 * time.Second):
					t.Errorf("%s: the connection is open after 20 s", name)
				}
			}
			for name, c := range others {
				select {
				case <-c.closed:
					t.Errorf("%s: the connection was closed", name)
				default:
				}
			}
			if _, _, err := get(t, url, leaving.Client(t)); err == nil {
				t.Error("a new connection is accepted")
			}
		})
	}
}

// keptConn is a client's connection. closed is closed when the server has ended it.
type keptConn struct {
	net.Conn
	closed chan struct{}
	once   sync.Once
}

func (c *keptConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if err != nil {
		c.once.Do(func() { close(c.closed) })
	}
	return n, err
}

// keep sends a request on a connection of its own, and keeps the connection open.
func keep(t *testing.T, url string, as *fixtures.CertificatePair, path string, http2 bool) *keptConn {
	t.Helper()
	k := &keptConn{closed: make(chan struct{})}
	transport := &http.Transport{
		TLSClientConfig: as.Client(t), Protocols: new(http.Protocols),
		DialContext: func(ctx context.Context, network, address string) (c net.Conn, err error) {
			k.Conn, err = (&net.Dialer{}).DialContext(ctx, network, address)
			return k, err
		},
	}
	transport.Protocols.SetHTTP1(!http2)
	transport.Protocols.SetHTTP2(http2)
	t.Cleanup(transport.CloseIdleConnections)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := (&http.Client{Transport: transport}).Do(req) //nolint:bodyclose // closed at the end of the test
	if err != nil {
		t.Fatal(err)
	}
	if http2 != (resp.ProtoMajor == 2) {
		t.Fatalf("got %s", resp.Proto)
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		_, _ = io.Copy(io.Discard, resp.Body) // until the end of the connection
	}()
	t.Cleanup(func() {
		_ = resp.Body.Close()
		<-read
	})
	return k
}
