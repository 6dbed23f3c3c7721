package config_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/scoreboard/scoreboard/server/config"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

var errDown = errors.New("it does not answer")

// fakeStore holds stored settings; nil for a store that does not answer.
type fakeStore struct {
	config.SettingsStore

	stored []scoreboard.StoredSetting
	down   bool
}

func (f *fakeStore) StoredSettings(context.Context) ([]scoreboard.StoredSetting, error) {
	if f.down {
		return nil, errDown
	}
	return f.stored, nil
}

func (f *fakeStore) set(name, value string) {
	f.stored = append(f.stored, scoreboard.StoredSetting{
		Name: name, Value: &value, Version: int64(len(f.stored) + 1),
	})
}

// fakeKeys says whose keys are in use.
type fakeKeys struct {
	config.KeySet

	inUse string // the URL of the keys; "" for none
	down  map[string]bool
}

func (k *fakeKeys) SwitchTo(_ context.Context, url string) error {
	if k.down[url] {
		return errDown
	}
	k.inUse = url
	return nil
}

func (k *fakeKeys) Forget(string) { k.inUse = "" }

const oldKeys, newKeys = "https://old.example/keys", "https://new.example/keys"

func newManager(t *testing.T, s *fakeStore, k *fakeKeys, flags map[string]string) *config.Manager {
	t.Helper()
	flags["auth-jwks-url"] = oldKeys
	flags["auth-master-key"] = strings.Repeat("0f", 32)
	given := func(name string) (string, bool) { v, ok := flags[name]; return v, ok }
	none := func(string) (string, bool) { return "", false }
	c, _, err := config.Load(given, none, nil)
	if err != nil {
		t.Fatal(err)
	}
	return config.NewManager(config.ManagerOptions{Deployed: c, Store: s, Keys: k, Log: slog.New(slog.DiscardHandler)})
}

// A provider that operators have replaced must not be trusted again by a process that
// starts while the new one, or the store, does not answer.
func TestReplacedProviderAtStart(t *testing.T) {
	t.Parallel()
	store, keys := &fakeStore{down: true}, &fakeKeys{inUse: oldKeys, down: map[string]bool{newKeys: true}}
	store.set("auth.jwks_url", newKeys)
	m := newManager(t, store, keys, map[string]string{})
	configured := 0
	m.OnChange(func(*config.Config) { configured++ })
	m.Start(t.Context())
	if detail, unsafe := m.Status().Problem(); configured > 0 || !unsafe || detail == "" {
		t.Errorf("the store is down: %d configurations, %q, unsafe %t", configured, detail, unsafe)
	}
	store.down = false
	for range 2 {
		m.Start(t.Context())
		detail, unsafe := m.Status().Problem()
		if keys.inUse != "" || configured == 0 || !unsafe || !strings.Contains(detail, "auth.jwks_url") {
			t.Errorf("the new provider is down: the keys of %q, %q, unsafe %t", keys.inUse, detail, unsafe)
		}
	}
	keys.down = nil
	m.Start(t.Context())
	if detail, unsafe := m.Status().Problem(); keys.inUse != newKeys || unsafe || detail != "" {
		t.Errorf("the new provider is up: the keys of %q, %q, unsafe %t", keys.inUse, detail, unsafe)
	}
	// Later, the keys that were read stay in use.
	const next = "https://next.example/keys"
	keys.down = map[string]bool{next: true}
	store.set("auth.jwks_url", next)
	m.Start(t.Context())
	if _, unsafe := m.Status().Problem(); keys.inUse != newKeys || !unsafe {
		t.Errorf("the next provider is down: the keys of %q, unsafe %t", keys.inUse, unsafe)
	}
}

// A setting that this node cannot follow must not keep it from following the others.
func TestInvalidSettingsAreSkipped(t *testing.T) {
	t.Parallel()
	store := &fakeStore{}
	store.set("anomaly.country_header", "CF-IPCountry") // without trusted_proxies here
	m := newManager(t, store, &fakeKeys{inUse: oldKeys}, map[string]string{})
	m.Start(t.Context())
	store.set("auth.max_token_ttl", "1h")
	store.set("reads.top_n", "20 of a newer version")
	store.set("limit.top_per_minute", "7")
	m.Start(t.Context())
	c := m.Current()
	if c.Auth.MaxTokenTTL != time.Hour || c.Limit.TopPerMinute != 7 || c.Anomaly.CountryHeader != "" {
		t.Errorf("got a token TTL of %s, %d reads, country header %q; want the valid ones in force",
			c.Auth.MaxTokenTTL, c.Limit.TopPerMinute, c.Anomaly.CountryHeader)
	}
	detail, unsafe := m.Status().Problem()
	if unsafe || !strings.Contains(detail, "anomaly.country_header requires trusted_proxies") ||
		!strings.Contains(detail, "reads.top_n") || strings.Contains(detail, "max_token_ttl") {
		t.Errorf("got %q, unsafe %t", detail, unsafe)
	}
	store.set("auth.signature", "perhaps") // of a newer version
	m.Start(t.Context())
	if detail, unsafe := m.Status().Problem(); !unsafe || !strings.Contains(detail, "auth.signature") {
		t.Errorf("one of auth is skipped: got %q, unsafe %t", detail, unsafe)
	}
}

// Dashboards mark when settings changed: not when a process starts, and each change once, also if it
// takes several attempts.
func TestChangesOfSettingsAreCounted(t *testing.T) {
	t.Parallel()
	store, keys := &fakeStore{}, &fakeKeys{inUse: oldKeys}
	store.set("limit.top_per_minute", "7")
	m := newManager(t, store, keys, map[string]string{})
	registry := prometheus.NewRegistry()
	registry.MustRegister(m.Collectors()...)
	check := func(when string, want float64) {
		t.Helper()
		m.Start(t.Context())
		families, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range families {
			if f.GetName() != "scoreboard_settings_changes_total" {
				continue
			}
			if got := f.GetMetric()[0].GetCounter().GetValue(); got != want {
				t.Errorf("%s: got %v changes, want %v", when, got, want)
			}
			return
		}
		t.Fatal("there is no such metric")
	}
	check("at the start", 0)
	check("later", 0)
	store.set("limit.top_per_minute", "8")
	check("after a change", 1)
	check("later", 1)
	keys.down = map[string]bool{newKeys: true}
	store.set("auth.jwks_url", newKeys)
	check("while the new provider is down", 1)
	check("while it is still down", 1)
	keys.down = nil
	check("when it is up", 2)
}
