package edge_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/server/edge"
)

// pair is a certificate and its key.
type pair struct {
	cert    *x509.Certificate
	key     *ecdsa.PrivateKey
	certPEM []byte
	keyPEM  []byte
}

// issue makes a certificate by an authority, or one by itself.
func issue(t testing.TB, name string, by *pair) *pair {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), BasicConstraintsValid: true, IsCA: by == nil,
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	parent, signer := template, key
	if by != nil {
		parent, signer = by.cert, by.key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return &pair{
		cert, key, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: keyDER}),
	}
}

func write(t testing.TB, path string, text []byte) {
	t.Helper()
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// port serves the names of verified clients under certificates that run.
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

// get connects anew and returns whose certificate it saw, and the answer.
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

func TestCertificatesAreReadAgain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	files := edge.Files{Cert: filepath.Join(dir, "cert.pem"), Key: filepath.Join(dir, "key.pem")}
	first, second := issue(t, "first", nil), issue(t, "second", nil)
	write(t, files.Cert, first.certPEM)
	write(t, files.Key, first.keyPEM)
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
	write(t, files.Cert, second.certPEM) // and not its key yet
	time.Sleep(2500 * time.Millisecond)
	if got := seen(); got != "first" {
		t.Errorf("half a change is in force: %s", got)
	}
	write(t, files.Key, second.keyPEM)
	for deadline := time.Now().Add(30 * time.Second); seen() != "second"; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the second certificate is not in force after 30 s")
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
		t.Error("a CBC suite is accepted")
	}
	if _, err := edge.NewCertificates(edge.Files{Cert: files.Cert, Key: filepath.Join(dir, "none")}, slog.New(slog.DiscardHandler)); err == nil {
		t.Error("a missing key is accepted at the start")
	}
}

func TestClientCertificates(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	files := edge.Files{Cert: filepath.Join(dir, "cert.pem"), Key: filepath.Join(dir, "key.pem"), ClientCA: filepath.Join(dir, "ca.pem")}
	own, authority, stranger := issue(t, "scoreboard", nil), issue(t, "authority", nil), issue(t, "stranger", nil)
	write(t, files.Cert, own.certPEM)
	write(t, files.Key, own.keyPEM)
	write(t, files.ClientCA, authority.certPEM)
	url, _ := port(t, files)
	for name, c := range map[string]struct {
		client *pair
		want   string
	}{
		"none":                 {nil, "nobody"},
		"one by our authority": {issue(t, "arena-1", authority), "arena-1"},
		"one by a stranger":    {issue(t, "arena-1", stranger), ""},
		"one by itself":        {stranger, ""},
	} {
		config := &tls.Config{InsecureSkipVerify: true}
		if c.client != nil {
			own, err := tls.X509KeyPair(c.client.certPEM, c.client.keyPEM)
			if err != nil {
				t.Fatal(err)
			}
			config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &own, nil }
		}
		_, answer, err := get(t, url, config)
		if c.want == "" && err == nil || c.want != "" && (err != nil || !strings.HasPrefix(answer, c.want+" ")) {
			t.Errorf("%s: got %q, %v", name, answer, err)
		}
	}
}

// addressBehind is what a handler behind proxies believes.
func addressBehind(t testing.TB, trusted []string, peer string, forwarded ...string) string {
	t.Helper()
	p, err := edge.ParseProxies(trusted)
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
	r.RemoteAddr = peer
	for _, f := range forwarded {
		r.Header.Add("X-Forwarded-For", f)
	}
	got := ""
	p.Wrap(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r.RemoteAddr }), func() string { return "" }).ServeHTTP(httptest.NewRecorder(), r)
	return got
}

func TestWhoseAddressItIs(t *testing.T) {
	t.Parallel()
	trusted := []string{"10.0.0.0/8", "192.0.2.7", "fd00::/8"}
	for name, c := range map[string]struct {
		peer      string
		forwarded []string
		want      string
	}{
		"no proxy":                     {"203.0.113.9:1234", nil, "203.0.113.9:1234"},
		"a stranger's word":            {"203.0.113.9:1234", []string{"198.51.100.1"}, "203.0.113.9:1234"},
		"a proxy's word":               {"10.1.2.3:1234", []string{"198.51.100.1"}, "198.51.100.1:0"},
		"a proxy that says nothing":    {"10.1.2.3:1234", nil, "10.1.2.3:1234"},
		"what the client wrote before": {"10.1.2.3:1234", []string{"127.0.0.1, 198.51.100.1"}, "198.51.100.1:0"},
		"two proxies":                  {"10.1.2.3:1234", []string{"127.0.0.1, 198.51.100.1, 192.0.2.7"}, "198.51.100.1:0"},
		"two headers":                  {"10.1.2.3:1234", []string{"127.0.0.1, 198.51.100.1", "192.0.2.7"}, "198.51.100.1:0"},
		"rubbish":                      {"10.1.2.3:1234", []string{"198.51.100.1, unknown"}, "10.1.2.3:1234"},
		"rubbish before a proxy":       {"10.1.2.3:1234", []string{"unknown, 192.0.2.7"}, "192.0.2.7:0"},
		"with a port":                  {"10.1.2.3:1234", []string{"198.51.100.1:80"}, "10.1.2.3:1234"},
		"IPv6":                         {"[fd00::1]:1234", []string{"2001:db8::5"}, "[2001:db8::5]:0"},
		"IPv4 in IPv6":                 {"[::ffff:10.1.2.3]:1234", []string{"::ffff:198.51.100.1"}, "198.51.100.1:0"},
		"a zone":                       {"10.1.2.3:1234", []string{"fe80::1%eth0"}, "10.1.2.3:1234"},
		"proxies without end":          {"10.1.2.3:1234", []string{"198.51.100.1" + strings.Repeat(", 10.0.0.1", 100)}, "10.0.0.1:0"},
	} {
		if got := addressBehind(t, trusted, c.peer, c.forwarded...); got != c.want {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
	}
	if got := addressBehind(t, nil, "10.1.2.3:1234", "198.51.100.1"); got != "10.1.2.3:1234" {
		t.Errorf("nobody is trusted: got %s", got)
	}
	for _, text := range []string{"", "localhost", "10.0.0.0/33", "10.0.0"} {
		if _, err := edge.ParseProxies([]string{text}); err == nil {
			t.Errorf("%q is taken for a proxy", text)
		}
	}
}

// Which country a request is from only a proxy of ours may say.
func TestWhoseCountryItIs(t *testing.T) {
	t.Parallel()
	country := func(trusted []string, peer, name string, said ...string) string {
		p, err := edge.ParseProxies(trusted)
		if err != nil {
			t.Fatal(err)
		}
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		r.RemoteAddr = peer
		r.Header.Set("X-Forwarded-For", "10.1.2.3")
		for _, s := range said {
			r.Header.Add("CF-IPCountry", s)
		}
		got := ""
		p.Wrap(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r.Header.Get("CF-IPCountry") }),
			func() string { return name }).ServeHTTP(httptest.NewRecorder(), r)
		return got
	}
	ours := []string{"10.0.0.0/8"}
	for name, c := range map[string]struct{ got, want string }{
		"a proxy's word":                     {country(ours, "10.1.2.3:1", "cf-ipcountry", "DE"), "DE"},
		"a stranger's word":                  {country(ours, "203.0.113.9:1", "CF-IPCountry", "DE"), ""},
		"nobody is trusted":                  {country(nil, "10.1.2.3:1", "CF-IPCountry", "DE"), ""},
		"the client's word beside a proxy's": {country(ours, "10.1.2.3:1", "CF-IPCountry", "DE", "FR"), ""},
		"a peer that is no address":          {country(ours, "@", "CF-IPCountry", "DE"), ""},
		"nobody reads it":                    {country(nil, "203.0.113.9:1", "", "DE"), "DE"},
	} {
		if c.got != c.want {
			t.Errorf("%s: got %q, want %q", name, c.got, c.want)
		}
	}
}

// Whatever is forwarded, the address is one, and never one that no proxy of
// ours has named.
func FuzzForwarded(f *testing.F) {
	f.Add("198.51.100.1, 10.0.0.1", "10.0.0.2")
	f.Add(",,,", "::1%x")
	f.Add("unknown", "")
	f.Fuzz(func(t *testing.T, first, second string) {
		got := addressBehind(t, []string{"10.0.0.0/8"}, "10.1.2.3:1234", first, second)
		if _, err := netip.ParseAddrPort(got); err != nil {
			t.Fatalf("%q, %q: the address is %q", first, second, got)
		}
		if got := addressBehind(t, []string{"10.0.0.0/8"}, "203.0.113.9:1", first, second); got != "203.0.113.9:1" {
			t.Fatalf("%q, %q: a stranger is believed: %q", first, second, got)
		}
	})
}
