package config

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Settings implements api.SettingsService: every setting as it is in force here.
func (m *Manager) Settings(ctx context.Context) ([]wire.Setting, error) {
	stored, err := m.Store.StoredSettings(ctx)
	if err != nil {
		return nil, err
	}
	var out []wire.Setting
	for _, v := range m.Current().Values() {
		out = append(out, settingJSON(v, stored))
	}
	return out, nil
}

func settingJSON(v Value, stored []scoreboard.StoredSetting) wire.Setting {
	out := wire.Setting{
		Name: v.Name, Value: v.Text, Source: string(v.Source), Meaning: v.Meaning, Live: Live(v.Name),
	}
	for i := range stored {
		if s := &stored[i]; s.Name == v.Name {
			out.Version, out.ChangedAt, out.ChangedBy = s.Version, &s.ChangedAt, string(s.ChangedBy)
		}
	}
	return out
}

// ChangeSettings implements api.SettingsService: it changes settings for all
// nodes, all or none of them, and applies them here before it returns. A token, unless
// it is "", must stay an operator's: its owner could not undo the change otherwise.
func (m *Manager) ChangeSettings(
	ctx context.Context, changes []scoreboard.SettingChange, token string,
) ([]wire.Setting, error) {
	for _, c := range changes {
		if err := m.checkAdjustable(ctx, c); err != nil {
			return nil, err
		}
	}
	peers, err := m.Store.TransportPeers(ctx)
	if err != nil {
		return nil, err
	}
	admitting, err := m.checkAdmitted(ctx, changes, token)
	if err != nil {
		return nil, err
	}
	for i := range changes {
		changes[i].Why.Detail = withoutSecret(&changes[i])
	}
	stored, err := m.Store.ChangeSettings(ctx, changes, func(stored []scoreboard.StoredSetting) error {
		return m.checkTogether(changes, stored, peers, admitting)
	})
	if err != nil {
		return nil, err
	}
	if err := m.apply(ctx, stored); err != nil {
		return nil, fmt.Errorf("apply the stored settings: %w", err)
	}
	values := m.Current().Values()
	out := make([]wire.Setting, len(changes))
	for i, c := range changes {
		v := values[slices.IndexFunc(values, func(v Value) bool { return v.Name == c.Name })]
		out[i] = settingJSON(v, stored)
	}
	return out, nil
}

// withoutSecret returns the detail of a change's audit entry without the secret in a URL.
func withoutSecret(c *scoreboard.SettingChange) json.RawMessage {
	var detail wire.SettingRequest
	if c.Value == nil || json.Unmarshal(c.Why.Detail, &detail) != nil {
		return c.Why.Detail
	}
	detail.Value = new(Shown(c.Name, *c.Value))
	masked, err := json.Marshal(detail)
	if err != nil { // this type always marshals
		panic(err)
	}
	return masked
}

// checkAdjustable rejects a change that is wrong by itself. A key set must be
// readable: with an unreadable one in force, no operator could undo it.
func (m *Manager) checkAdjustable(ctx context.Context, c scoreboard.SettingChange) error {
	if !slices.ContainsFunc(m.Deployed.Values(), func(v Value) bool { return v.Name == c.Name }) {
		return scoreboard.Errorf(wire.CodeNotFound, "unknown setting %.100s", c.Name)
	}
	if !Live(c.Name) {
		return scoreboard.Invalid("name", "setting %s cannot be changed while the daemon runs", c.Name)
	}
	if c.Value != nil && strings.Contains(*c.Value, Mask) {
		return scoreboard.Invalid("value", "value contains %s, which stands for a secret; send the secret", Mask)
	}
	if c.Name != keysSetting || m.Keys == nil {
		return nil
	}
	url := m.Deployed.Auth.JWKSURL
	if c.Value != nil {
		url = *c.Value
	}
	if err := m.Keys.Check(ctx, url); err != nil {
		return scoreboard.Invalid("value", "auth.jwks_url: %s", err)
	}
	return nil
}

// checkAdmitted rejects changes after which a token is not an operator's, and returns
// the configuration that admits it; nil if that does not depend on the changes. It
// reads the keys of that configuration, so it runs before the transaction.
func (m *Manager) checkAdmitted(
	ctx context.Context, changes []scoreboard.SettingChange, token string,
) (*Auth, error) {
	of := func(c scoreboard.SettingChange) bool { return strings.HasPrefix(c.Name, "auth.") }
	if token == "" || !slices.ContainsFunc(changes, of) {
		return nil, nil //nolint:nilnil // nothing to check
	}
	stored, err := m.Store.StoredSettings(ctx)
	if err != nil {
		return nil, err
	}
	for _, c := range changes {
		stored = slices.DeleteFunc(stored, func(s scoreboard.StoredSetting) bool { return s.Name == c.Name })
		stored = append(stored, scoreboard.StoredSetting{Name: c.Name, Value: c.Value})
	}
	c, err := m.Deployed.With(stored)
	if err != nil {
		return nil, nil //nolint:nilerr,nilnil // checkTogether says what is wrong
	}
	if err := m.Tokens.Admits(ctx, token, &c.Auth); err != nil {
		return nil, scoreboard.Invalid("value", "the token of this request would not be accepted afterwards (%s), so "+
			"you could not undo the change; use a token that is valid before and after, or force the change", err)
	}
	return &c.Auth, nil
}

// checkTogether rejects changes that the whole configuration, or a running
// process, cannot follow. stored includes the changes; admitting is what
// checkAdmitted returned.
func (m *Manager) checkTogether(
	changes []scoreboard.SettingChange, stored []scoreboard.StoredSetting, peers []scoreboard.TransportPeer,
	admitting *Auth,
) error {
	c, err := m.Deployed.With(stored)
	var invalid *InvalidError
	if errors.As(err, &invalid) {
		err = errors.New(invalid.List("; "))
	}
	if err == nil && c.Auth.JWKSURL != m.Current().Auth.JWKSURL && (c.Auth.JWKSURL == "" || m.Keys == nil) {
		err = errors.New("auth.jwks_url can be changed, but not added or removed, while the daemon runs")
	}
	switched := func(c scoreboard.SettingChange) bool { return c.Name == "transport" && c.Value != nil }
	if err == nil && slices.ContainsFunc(changes, switched) {
		err = supported(peers, c.Transport)
	}
	if err != nil {
		return scoreboard.Invalid("value", "%s", err)
	}
	if admitting != nil && !reflect.DeepEqual(c.Auth, *admitting) {
		return scoreboard.Errorf(wire.CodeConflict, "another change of these settings came first; try again")
	}
	return nil
}

// supported names a running relay, projector or mirror that does not support a transport.
func supported(peers []scoreboard.TransportPeer, transport string) error {
	for _, p := range peers {
		if !slices.Contains(p.Transports, transport) {
			return fmt.Errorf("transport cannot be %s: process %s does not support it (kafka requires kafka.brokers; "+
				"direct requires the roles relay and projector in one process, and no role mirror)", transport, p.Owner)
		}
	}
	return nil
}
