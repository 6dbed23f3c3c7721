package edge_test

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/internal/test/fixtures"
	"github.com/scoreboard/scoreboard/server/http/edge"
)

func TestCountries(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "countries.mmdb")
	fixtures.WriteCountries(t, path, map[string]string{
		"192.0.2.0/24": "DE", "198.51.100.0/25": "FR", "2001:db8::/32": "JP",
	})
	f, err := edge.OpenCountries(path, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	for address, want := range map[string]string{
		"192.0.2.1": "DE", "192.0.2.255": "DE", "192.0.3.0": "", "198.51.100.127": "FR", "198.51.100.128": "",
		"2001:db8::1": "JP", "2001:db9::1": "", "::ffff:192.0.2.1": "DE", "": "", "localhost": "", "192.0.2.1:80": "",
	} {
		if got := f.Country(address); got != want {
			t.Errorf("%q: got %q, want %q", address, got, want)
		}
	}
}

func TestInvalidCountryFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	good := filepath.Join(dir, "good")
	fixtures.WriteCountries(t, good, map[string]string{"192.0.2.0/24": "DE"})
	text, err := os.ReadFile(good)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{
		"empty": {}, "text": []byte("not an mmdb file"), "cut short": text[:len(text)/2],
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := edge.OpenCountries(path, slog.New(slog.DiscardHandler)); err == nil {
			t.Errorf("a file that is %s is accepted", name)
		}
	}
	for name, path := range map[string]string{"missing": filepath.Join(dir, "none"), "a folder": dir} {
		if _, err := edge.OpenCountries(path, slog.New(slog.DiscardHandler)); err == nil {
			t.Errorf("a file that is %s is accepted", name)
		}
	}
}

func TestCountryFileIsReloaded(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "countries.mmdb")
	fixtures.WriteCountries(t, path, map[string]string{"192.0.2.0/24": "DE"})
	logged := &backends.Buffer{}
	f, err := edge.OpenCountries(path, slog.New(slog.NewTextHandler(logged, nil)))
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- f.Run(ctx) }()
	defer func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	until := func(what string, is func() bool) {
		t.Helper()
		for end := time.Now().Add(30 * time.Second); !is(); time.Sleep(20 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("timed out waiting for %s", what)
			}
		}
	}
	if err := os.WriteFile(path, []byte("half a file"), 0o600); err != nil {
		t.Fatal(err)
	}
	until("the invalid file to be rejected", func() bool { return strings.Contains(logged.String(), "not reloaded") })
	if got := f.Country("192.0.2.1"); got != "DE" {
		t.Errorf("with an invalid file: got %q, want the former country", got)
	}
	fixtures.WriteCountries(t, path, map[string]string{"192.0.2.0/24": "FR"})
	until("the new file", func() bool { return f.Country("192.0.2.1") == "FR" })
}
