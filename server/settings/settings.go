package settings

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/scoreboard/scoreboard/server/config"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store"
)

// PollInterval is how often a node reads the stored settings. With the time of
// the query, a change is in force everywhere within two seconds.
const PollInterval = time.Second

// A process that runs an end of the transport registers which ones it supports,
// for peerLease at a time.
const peerLease = 5 * PollInterval

// Store keeps the settings that operators have changed.
type Store interface {
	StoredSettings(ctx context.Context) ([]scoreboard.StoredSetting, error)
	ChangeSettings(
		ctx context.Context, changes []scoreboard.SettingChange, check func([]scoreboard.StoredSetting) error,
	) ([]scoreboard.StoredSetting, error)
	JoinTransportPeers(ctx context.Context, process string, transports []string, lease time.Duration) error
	TransportPeers(ctx context.Context) ([]scoreboard.TransportPeer, error)
}

// KeySet verifies bearer tokens by the public keys at a URL.
type KeySet interface {
	Check(ctx context.Context, url string) error // reads the keys, and keeps the current ones
	SwitchTo(ctx context.Context, url string) error
}

// Tokens verifies bearer tokens.
type Tokens interface {
	// Admits returns why a token would not be an operator's under another
	// configuration, whose keys it reads; nil if it would.
	Admits(ctx context.Context, token string, a *config.Auth) error
}

// Options are what a Manager works with.
type Options struct {
	Tokens   Tokens
	Deployed *config.Config
	Store    Store
	Keys     KeySet // nil where a shared secret verifies tokens
	Process  string // a unique name
	Pipeline bool   // the process runs a relay or a projector
	Log      *slog.Logger
}

// Manager keeps the configuration in force and tells components about changes.
type Manager struct {
	Options
	current atomic.Pointer[config.Config]
	policy  atomic.Pointer[scoreboard.IngestPolicy]

	onChange, onPoll []func(*config.Config)
	onTransport      func(name string)

	mu        sync.Mutex
	version   int64 // the last one that was applied
	following bool  // a version was applied since the start
}

// New returns a manager with the deployed configuration in force.
func New(o Options) *Manager {
	m := &Manager{Options: o, onTransport: func(string) {}}
	m.current.Store(o.Deployed)
	m.policy.Store(ingestPolicyOf(o.Deployed))
	return m
}

// OnChange registers a component's function for a changed configuration. All
// three On functions must be called before Run; calls never overlap.
func (m *Manager) OnChange(configure func(*config.Config)) {
	m.onChange = append(m.onChange, configure)
}

// OnPoll registers a function that is called at every poll with the
// configuration in force.
func (m *Manager) OnPoll(poll func(*config.Config)) { m.onPoll = append(m.onPoll, poll) }

// OnTransport registers the function that switches to another transport.
func (m *Manager) OnTransport(switchTo func(name string)) { m.onTransport = switchTo }

// Current returns the configuration in force.
func (m *Manager) Current() *config.Config { return m.current.Load() }

// IngestPolicy returns the part of the configuration that increments are checked
// against.
func (m *Manager) IngestPolicy() *scoreboard.IngestPolicy { return m.policy.Load() }

func ingestPolicyOf(c *config.Config) *scoreboard.IngestPolicy {
	return &scoreboard.IngestPolicy{
		Rules: c.Ingest.Actions, MinDelta: c.Ingest.MinDelta, MaxDelta: c.Ingest.MaxDelta,
		Anomalies: scoreboard.Anomalies{
			Size: scoreboard.AnomalyMode(c.Anomaly.Size), SizeFactor: int64(c.Anomaly.SizeFactor),
			Frequency: scoreboard.AnomalyMode(c.Anomaly.Frequency), MaxEvents: c.Anomaly.FrequencyMax,
			Amount: scoreboard.AnomalyMode(c.Anomaly.Amount), MaxPoints: c.Anomaly.AmountMax,
			Travel: scoreboard.AnomalyMode(c.Anomaly.Travel), TravelWindow: c.Anomaly.TravelWindow,
		},
	}
}

// Run applies stored settings until ctx ends.
func (m *Manager) Run(ctx context.Context) error {
	tick := time.NewTicker(PollInterval)
	defer tick.Stop()
	for {
		if err := m.poll(ctx); err != nil && ctx.Err() == nil {
			m.Log.Warn("settings not updated", "err", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

func (m *Manager) poll(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, PollInterval)
	defer cancel()
	stored, err := m.Store.StoredSettings(ctx)
	if err != nil {
		return err
	}
	err = m.apply(ctx, stored)
	if m.Pipeline {
		err = errors.Join(err, m.Store.JoinTransportPeers(ctx, m.Process, m.Deployed.SupportedTransports(), peerLease))
	}
	return err
}

// apply puts stored settings into force, each version once.
func (m *Manager) apply(ctx context.Context, stored []scoreboard.StoredSetting) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	var version int64
	for i := range stored {
		version = max(version, stored[i].Version)
	}
	for _, poll := range m.onPoll {
		poll(m.Current())
	}
	if version <= m.version {
		return nil
	}
	c, err := m.Deployed.With(stored)
	if err != nil {
		m.version = version // report it once, not at every poll
		return err
	}
	err = m.useKeys(ctx, c)
	for _, configure := range m.onChange {
		configure(c)
	}
	if m.Current().Transport != c.Transport || !m.following && transportChanged(stored) {
		m.onTransport(c.Transport)
	}
	m.current.Store(c)
	m.policy.Store(ingestPolicyOf(c))
	m.following = true
	if err != nil {
		return err // everything else is in force; the next poll reads the keys again
	}
	m.version = version
	m.Log.Info("settings changed", "version", version)
	return nil
}

// transportChanged reports whether operators have ever changed the transport. A
// process that starts then may not be the first to learn of it, nor the last: the
// other transports may still hold records.
func transportChanged(stored []scoreboard.StoredSetting) bool {
	return slices.ContainsFunc(stored, func(s scoreboard.StoredSetting) bool { return s.Name == "transport" })
}

// useKeys switches to the key set of a configuration. One that cannot be read
// leaves the previous one in force.
func (m *Manager) useKeys(ctx context.Context, c *config.Config) error {
	current := m.Current().Auth.JWKSURL
	if m.Keys == nil || c.Auth.JWKSURL == current {
		return nil
	}
	err := m.Keys.SwitchTo(ctx, c.Auth.JWKSURL)
	if err != nil {
		c.Auth.JWKSURL = current
	}
	return err
}

// SwitchedFromKafka reports whether operators have switched from Kafka, which was
// deployed, to another transport: a start must not wait for Kafka then.
func (m *Manager) SwitchedFromKafka(ctx context.Context) bool {
	if m.Deployed.Transport != config.TransportKafka {
		return false
	}
	stored, err := m.Store.StoredSettings(ctx)
	if err != nil {
		return false
	}
	c, err := m.Deployed.With(stored)
	return err == nil && c.Transport != config.TransportKafka
}

// Effective returns a deployed configuration with the changes in its store.
func Effective(ctx context.Context, c *config.Config) (*config.Config, error) {
	s, err := store.Open(ctx, store.Options{URL: c.Postgres.URL, MaxConns: 1, Describe: c.Postgres.Describe})
	if err != nil {
		return nil, err
	}
	defer s.Close()
	stored, err := s.Settings.StoredSettings(ctx)
	if err != nil {
		return nil, err
	}
	return c.With(stored)
}
