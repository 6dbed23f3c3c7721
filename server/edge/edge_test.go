package edge_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/server/edge"
	"github.com/scoreboard/scoreboard/server/edge/edgetest"
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
		fmt.Fprintf(w, "%s %s", name, r.Proto)
	}))
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
	first, second := edgetest.Issue(t, "first", nil), edgetest.Issue(t, "second", nil)
	edgetest.Write(t, files.Cert, first.CertPEM)
	edgetest.Write(t, files.Key, first.KeyPEM)
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
	edgetest.Write(t, files.Cert, second.CertPEM) // its key follows
	time.Sleep(2500 * time.Millisecond)
	if got := seen(); got != "first" {
		t.Errorf("a certificate without its key is in use: %s", got)
	}
	edgetest.Write(t, files.Key, second.KeyPEM)
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
	own, authority, stranger := edgetest.Issue(
		t,
		"scoreboard",
		nil,
	), edgetest.Issue(
		t,
		"authority",
		nil,
	), edgetest.Issue(
		t,
		"stranger",
		nil,
	)
	edgetest.Write(t, files.Cert, own.CertPEM)
	edgetest.Write(t, files.Key, own.KeyPEM)
	edgetest.Write(t, files.ClientCA, authority.CertPEM)
	url, _ := port(t, files)
	for name, c := range map[string]struct {
		client *edgetest.Pair
		want   string
	}{
		"none":                 {nil, "nobody"},
		"by our authority":     {edgetest.Issue(t, "arena-1", authority), "arena-1"},
		"by another authority": {edgetest.Issue(t, "arena-1", stranger), ""},
		"self-signed":          {stranger, ""},
	} {
		_, answer, err := get(t, url, c.client.Client(t))
		if c.want == "" && err == nil || c.want != "" && (err != nil || !strings.HasPrefix(answer, c.want+" ")) {
			t.Errorf("%s: got %q, %v", name, answer, err)
		}
	}
}
