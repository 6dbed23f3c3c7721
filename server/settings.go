package server

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/scoreboard/scoreboard/server/api"
	"github.com/scoreboard/scoreboard/server/auth"
	"github.com/scoreboard/scoreboard/server/config"
	"github.com/scoreboard/scoreboard/server/protocol"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store"
)

// settingsInterval is how often a node asks whether an operator has turned something:
// with the time that a question takes, within two seconds.
const settingsInterval = time.Second

// settings keeps the configuration that is in force: as deployed, and over it what
// operators have turned.
type knobs struct {
	server   *Server
	deployed *config.Config
	current  atomic.Pointer[config.Config]
	trust    atomic.Pointer[scoreboard.IngestPolicy]

	mu      sync.Mutex
	applied int64 // the version that was applied last
	begun   bool  // some version was

	carrier string // the name of this process among those that carry
}

func newKnobs(s *Server, c *config.Config) *knobs {
	k := &knobs{server: s, deployed: c, carrier: processName()}
	k.current.Store(c)
	k.trust.Store(ingestPolicyOf(c))
	return k
}

// ingestPolicyOf is what a configuration asks of increments.
func ingestPolicyOf(c *config.Config) *scoreboard.IngestPolicy {
	return &scoreboard.IngestPolicy{
		Rules: c.IngestActions, MinDelta: c.IngestLeastDelta, MaxDelta: c.IngestMostDelta,
		Anomalies: scoreboard.Anomalies{
			Size: scoreboard.AnomalyMode(c.AnomalySize), SizeFactor: int64(c.AnomalySizeFactor),
			Frequency: scoreboard.AnomalyMode(c.AnomalyFrequency), MaxEvents: c.AnomalyFrequencyMost,
			Amount: scoreboard.AnomalyMode(c.AnomalyAmount), MaxPoints: c.AnomalyAmountMost,
			Travel: scoreboard.AnomalyMode(c.AnomalyTravel), TravelWindow: c.AnomalyTravelWindow,
		},
	}
}

// Run follows what operators turn until ctx ends. While the store is away all
// stays as it is.
func (k *knobs) Run(ctx context.Context) error {
	tick := time.NewTicker(settingsInterval)
	defer tick.Stop()
	for {
		if err := k.follow(ctx); err != nil && ctx.Err() == nil {
			k.server.log.Warn("knobs not followed", "err", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

func (k *knobs) follow(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, settingsInterval)
	defer cancel()
	stored, err := k.server.store.StoredSettings(ctx)
	if err != nil {
		return err
	}
	err = k.apply(ctx, stored)
	if k.server.carries() {
		err = errors.Join(err, k.server.store.JoinCarriers(ctx, k.carrier, k.deployed.Carrying(), 5*settingsInterval))
	}
	return err
}

// apply puts in force what is stored, once for each version.
func (k *knobs) apply(ctx context.Context, stored []scoreboard.StoredSetting) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	var version int64
	for i := range stored {
		version = max(version, stored[i].Version)
	}
	s := k.server
	if s.hub != nil && !k.current.Load().RealtimeEnabled {
		s.hub.Configure(hubOptions(k.current.Load())) // some more connections end
	}
	if version <= k.applied {
		return nil
	}
	c, err := k.deployed.With(stored)
	if err != nil {
		k.applied = version // told once, not each second
		return err
	}
	err = s.useKeys(ctx, c)
	s.turn(c)
	if turned := k.current.Load().Transport != c.Transport; s.ways != nil && (turned || !k.begun && turnedOnce(stored)) {
		s.ways.take(c.Transport)
	}
	k.current.Store(c)
	k.trust.Store(ingestPolicyOf(c))
	k.begun = true
	if err != nil {
		return err // all else is in force; the keys are asked for again
	}
	k.applied = version
	s.log.Info("knobs turned", "version", version)
	return nil
}

// turnedOnce says whether operators have ever turned the transport: what a
// process that starts finds in the others may then be as new as it is.
func turnedOnce(stored []scoreboard.StoredSetting) bool {
	return slices.ContainsFunc(stored, func(k scoreboard.StoredSetting) bool { return k.Name == "transport" })
}

// turnedFromKafka says whether operators have turned to another transport than
// the one that was deployed, Kafka: a start must not wait for it then.
func (s *Server) turnedFromKafka(ctx context.Context) bool {
	if s.config.Transport != config.TransportKafka {
		return false
	}
	stored, err := s.store.StoredSettings(ctx)
	if err != nil {
		return false
	}
	c, err := s.config.With(stored)
	return err == nil && c.Transport != config.TransportKafka
}

// useKeys takes the key set of a configuration, where that is another one. One
// that cannot be read leaves the one before in force.
func (s *Server) useKeys(ctx context.Context, c *config.Config) error {
	now := s.knobs.current.Load().AuthJWKSURL
	if s.keySet == nil || c.AuthJWKSURL == now {
		return nil
	}
	err := s.keySet.Use(ctx, c.AuthJWKSURL)
	if err != nil {
		c.AuthJWKSURL = now
	}
	return err
}

// turn has every station follow a configuration.
func (s *Server) turn(c *config.Config) {
	s.tokens.Configure(auth.Policy{Issuer: c.AuthIssuer, Audience: c.AuthAudience, MaxLife: c.AuthMaxLife})
	s.limits.Configure(ratesOf(c))
	s.api.Configure(policyOf(c))
	if s.relay != nil {
		s.relay.Configure(c.OutboxBatch, c.OutboxPoll, c.OutboxPause)
	}
	if s.hub != nil {
		s.hub.Configure(hubOptions(c))
	}
}

func policyOf(c *config.Config) api.Policy {
	return api.Policy{
		SignatureOptional: c.AuthSignature == "optional", Async: c.IngestAsync, OverflowAsync: c.IngestOverflow == "async",
		AnonymousReads: c.ReadsAnonymous, TopN: c.ReadsTopN, CountryHeader: c.AnomalyCountryHeader,
	}
}

// Settings lists all settings as they are in force here.
func (k *knobs) Settings(ctx context.Context) ([]protocol.Setting, error) {
	stored, err := k.server.store.StoredSettings(ctx)
	if err != nil {
		return nil, err
	}
	var out []protocol.Setting
	for _, v := range k.current.Load().Values() {
		out = append(out, settingJSON(v, stored))
	}
	return out, nil
}

func settingJSON(v config.Value, stored []scoreboard.StoredSetting) protocol.Setting {
	out := protocol.Setting{Name: v.Name, Value: v.Text, Source: string(v.Source), Meaning: v.Meaning, Live: config.Live(v.Name)}
	for i := range stored {
		if s := &stored[i]; s.Name == v.Name {
			out.Version, out.ChangedAt, out.ChangedBy = s.Version, &s.ChangedAt, string(s.ChangedBy)
		}
	}
	return out
}

// ChangeSettings turns settings for all nodes, all or none; here at once.
func (k *knobs) ChangeSettings(ctx context.Context, turns []scoreboard.SettingChange) ([]protocol.Setting, error) {
	for _, t := range turns {
		if err := k.turnable(ctx, t); err != nil {
			return nil, err
		}
	}
	carriers, err := k.server.store.Carriers(ctx)
	if err != nil {
		return nil, err
	}
	stored, err := k.server.store.ChangeSettings(ctx, turns, func(stored []scoreboard.StoredSetting) error {
		c, err := k.deployed.With(stored)
		if err == nil && c.AuthJWKSURL != k.current.Load().AuthJWKSURL && (c.AuthJWKSURL == "" || k.server.keySet == nil) {
			err = errors.New("knob auth.jwks_url can be changed, but not turned on or off, while the daemon runs")
		}
		if err == nil && slices.ContainsFunc(turns, func(t scoreboard.SettingChange) bool { return t.Name == "transport" && t.Value != nil }) {
			err = followed(carriers, c.Transport)
		}
		if err != nil {
			return scoreboard.Invalid("value", "%s", strings.TrimPrefix(err.Error(), "knob "))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if err := k.apply(ctx, stored); err != nil {
		return nil, fmt.Errorf("apply what is stored: %w", err)
	}
	values := k.current.Load().Values()
	out := make([]protocol.Setting, len(turns))
	for i, t := range turns {
		out[i] = settingJSON(values[slices.IndexFunc(values, func(v config.Value) bool { return v.Name == t.Name })], stored)
	}
	return out, nil
}

// turnable refuses what is wrong about one setting alone. A key set that cannot be
// read is: with it in force nobody could take it back.
func (k *knobs) turnable(ctx context.Context, t scoreboard.SettingChange) error {
	if !slices.ContainsFunc(k.deployed.Values(), func(v config.Value) bool { return v.Name == t.Name }) {
		return scoreboard.Errorf(scoreboard.CodeNotFound, "there is no knob %.100s", t.Name)
	}
	if !config.Live(t.Name) {
		return scoreboard.Invalid("name", "knob %s is set at the start of the daemon only", t.Name)
	}
	if t.Name != "auth.jwks_url" || k.server.keySet == nil {
		return nil
	}
	address := k.deployed.AuthJWKSURL
	if t.Value != nil {
		address = *t.Value
	}
	if err := k.server.keySet.Try(ctx, address); err != nil {
		return scoreboard.Invalid("value", "auth.jwks_url: %s", err)
	}
	return nil
}

// followed says who of those that relay and project could not work with a
// transport.
func followed(carriers []scoreboard.Carrier, transport string) error {
	for _, c := range carriers {
		if !slices.Contains(c.Transports, transport) {
			return fmt.Errorf("knob transport cannot be %s: process %s cannot work with it (kafka wants kafka.brokers; direct wants the roles relay and projector in one process)",
				transport, c.Owner)
		}
	}
	return nil
}

// InForce is a deployed configuration with what operators have turned, as the
// store has it.
func InForce(ctx context.Context, c *config.Config) (*config.Config, error) {
	s, err := store.Open(ctx, store.Options{URL: c.PostgresURL, MaxConns: 1, Describe: c.PostgresDescribe})
	if err != nil {
		return nil, err
	}
	defer s.Close()
	stored, err := s.StoredSettings(ctx)
	if err != nil {
		return nil, err
	}
	return c.With(stored)
}
