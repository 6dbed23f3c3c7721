package config

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// PollInterval is how often a node reads the stored settings. With the time of
// the query, a change is in force everywhere within two seconds.
const PollInterval = time.Second

// A process that uses the transport registers which ones it supports,
// for peerLease at a time.
const peerLease = 5 * PollInterval

// SettingsStore keeps the settings that operators have changed.
type SettingsStore interface {
	StoredSettings(ctx context.Context) ([]scoreboard.StoredSetting, error)
	ChangeSettings(
		ctx context.Context, changes []scoreboard.SettingChange, check func([]scoreboard.StoredSetting) error,
	) ([]scoreboard.StoredSetting, error)
	JoinTransportPeers(ctx context.Context, process string, transports []string, lease time.Duration) error
	TransportPeers(ctx context.Context) ([]scoreboard.TransportPeer, error)
}

// KeySet verifies bearer tokens by the public keys at a URL.
type KeySet interface {
	Check(ctx context.Context, url string) error    // reads the keys, and keeps the current ones
	SwitchTo(ctx context.Context, url string) error // reads the keys, or keeps the current ones
	Forget(url string)                              // holds no keys until those at url are read
}

// Tokens verifies bearer tokens.
type Tokens interface {
	// Admits returns why a token would not be an operator's under another
	// configuration, whose keys it reads; nil if it would.
	Admits(ctx context.Context, token string, a *Auth) error
}

// ManagerOptions are what a Manager works with.
type ManagerOptions struct {
	Tokens   Tokens
	Deployed *Config
	Store    SettingsStore
	Keys     KeySet // nil where a shared secret verifies tokens
	Process  string // a unique name
	Pipeline bool   // the process runs a relay, a projector or a mirror
	Log      *slog.Logger
}

// Manager keeps the configuration in force and tells components about changes.
type Manager struct {
	ManagerOptions
	current atomic.Pointer[Config]
	policy  atomic.Pointer[scoreboard.IngestPolicy]

	onChange, onPoll []func(*Config)
	onTransport      func(name string)

	status  atomic.Pointer[ManagerStatus]
	changes atomic.Uint64 // that were put into force while the process ran

	mu        sync.Mutex
	version   int64 // the last one that was applied
	following bool  // the stored settings were applied since the start
	applied   bool  // wholly, at least once
	keys      bool  // the keys of a stored key set, or of the deployed one, are in use
}

// ManagerStatus is how this process follows the stored settings.
type ManagerStatus struct {
	Read bool // they were read since the start
	// Skipped are the settings that are stored and not in force here, with the reason.
	Skipped []Problem
}

// Problem describes which stored settings this process does not follow; "" if it
// follows all. unsafe says that it must not receive requests: its tokens may be those
// of a provider that operators have replaced.
func (s *ManagerStatus) Problem() (detail string, unsafe bool) {
	if !s.Read {
		return unread, true
	}
	if len(s.Skipped) == 0 {
		return "", false
	}
	auth := func(p Problem) bool { return strings.HasPrefix(p.Setting, "auth.") }
	return "stored, but not in force here: " + (&InvalidError{Problems: s.Skipped}).List("; "),
		slices.ContainsFunc(s.Skipped, auth)
}

const unread = "the settings that operators have changed have not been read yet"

// NewManager returns a manager with the deployed configuration in force.
func NewManager(o ManagerOptions) *Manager {
	m := &Manager{ManagerOptions: o, onTransport: func(string) {}}
	m.current.Store(o.Deployed)
	m.status.Store(&ManagerStatus{})
	m.policy.Store(ingestPolicyOf(o.Deployed))
	return m
}

// OnChange registers a component's function for a changed configuration. All
// three On functions must be called before Run; calls never overlap.
func (m *Manager) OnChange(configure func(*Config)) {
	m.onChange = append(m.onChange, configure)
}

// OnPoll registers a function that is called at every poll with the
// configuration in force.
func (m *Manager) OnPoll(poll func(*Config)) { m.onPoll = append(m.onPoll, poll) }

// OnTransport registers the function that switches to another transport.
func (m *Manager) OnTransport(switchTo func(name string)) { m.onTransport = switchTo }

// Status returns how this process follows the stored settings.
func (m *Manager) Status() *ManagerStatus { return m.status.Load() }

// Collectors returns the metrics for registration.
func (m *Manager) Collectors() []prometheus.Collector {
	return []prometheus.Collector{
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "scoreboard_settings_skipped",
			Help: "Stored settings that this process cannot follow; /readyz and sbctl doctor name them.",
		}, func() float64 { return float64(len(m.Status().Skipped)) }),
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "scoreboard_settings_changes_total",
			Help: "Times that this process put changed settings into force while it ran.",
		}, func() float64 { return float64(m.changes.Load()) }),
	}
}

// Current returns the configuration in force.
func (m *Manager) Current() *Config { return m.current.Load() }

// IngestPolicy returns the part of the configuration that increments are checked
// against.
func (m *Manager) IngestPolicy() *scoreboard.IngestPolicy { return m.policy.Load() }

func ingestPolicyOf(c *Config) *scoreboard.IngestPolicy {
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

// Start applies the stored settings if they can be read now, so that a process whose
// store answers never works with others.
func (m *Manager) Start(ctx context.Context) {
	if err := m.poll(ctx); err != nil && ctx.Err() == nil {
		m.Log.Warn("settings not read at the start", "err", err)
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
	if m.following && version <= m.version {
		return nil
	}
	c, skipped := m.Deployed.WithValid(stored)
	err := m.useKeys(ctx, c)
	for _, configure := range m.onChange {
		configure(c)
	}
	if m.Current().Transport != c.Transport || !m.following && transportChanged(stored) {
		m.onTransport(c.Transport)
	}
	m.current.Store(c)
	m.policy.Store(ingestPolicyOf(c))
	status := &ManagerStatus{Read: true, Skipped: skipped}
	if err != nil {
		status.Skipped = append(slices.Clone(skipped),
			Problem{Setting: keysSetting, Detail: "was not read: " + err.Error()})
	}
	m.status.Store(status)
	m.following = true
	if err != nil {
		return err // everything else is in force; the next poll reads the keys again
	}
	m.version = version
	if m.applied {
		m.changes.Add(1)
	}
	m.applied = true
	if len(skipped) > 0 {
		detail, _ := status.Problem()
		m.Log.Error("settings skipped: "+detail, "version", version, "process", m.Process)
	}
	if len(stored) > 0 {
		m.Log.Info("settings changed", "version", version)
	}
	return nil
}

// transportChanged reports whether operators have ever changed the transport. A
// process that starts then may not be the first to learn of it, nor the last: the
// other transports may still hold records.
func transportChanged(stored []scoreboard.StoredSetting) bool {
	return slices.ContainsFunc(stored, func(s scoreboard.StoredSetting) bool { return s.Name == "transport" })
}

// useKeys switches to the key set of a configuration. One that cannot be read leaves
// in force the keys that were read last; at the start there are none, because the
// deployed ones may be those of a provider that operators have replaced.
func (m *Manager) useKeys(ctx context.Context, c *Config) error {
	current := m.Current().Auth.JWKSURL
	if m.Keys == nil || m.keys && c.Auth.JWKSURL == current {
		return nil
	}
	if !m.following && c.Auth.JWKSURL == current {
		m.keys = true // the key set reads them itself
		return nil
	}
	err := m.Keys.SwitchTo(ctx, c.Auth.JWKSURL)
	switch {
	case err == nil:
		m.keys = true
	case m.keys:
		c.Auth.JWKSURL = current
	default:
		m.Keys.Forget(c.Auth.JWKSURL)
	}
	return err
}

// keysSetting is the setting that can be valid and nevertheless not followed.
const keysSetting = "auth.jwks_url"

// SwitchedFromKafka reports whether operators have switched from Kafka, which was
// deployed, to another transport: a start must not wait for Kafka then.
func (m *Manager) SwitchedFromKafka(ctx context.Context) bool {
	if m.Deployed.Transport != TransportKafka {
		return false
	}
	stored, err := m.Store.StoredSettings(ctx)
	if err != nil {
		return false
	}
	c, _ := m.Deployed.WithValid(stored)
	return c.Transport != TransportKafka
}
