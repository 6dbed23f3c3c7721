package auth_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/server/http/auth"
)

// The master keys of a rotation.
var (
	oldMaster = strings.Repeat("0f", 32)
	newMaster = strings.Repeat("0e", 32)
)

// In each step of a rotation, nodes accept what nodes in the step before have made.
func TestTwoMasterKeys(t *testing.T) {
	t.Parallel()
	rdb := backends.RedisClient(t, backends.Redis(t))
	build := func(keys ...string) (*auth.ActionTokens, *auth.StreamTokens, *auth.Keyring) {
		actions, err := auth.NewActionTokens(keys)
		if err != nil {
			t.Fatal(err)
		}
		streams, err := auth.NewStreamTokens(keys, rdb, time.Now)
		if err != nil {
			t.Fatal(err)
		}
		ring, err := auth.NewKeyring(keys, nil, slog.New(slog.DiscardHandler), time.Now)
		if err != nil {
			t.Fatal(err)
		}
		return actions, streams, ring
	}
	for _, tt := range []struct {
		name       string
		made, read []string
		valid      bool
	}{
		{"first step, by a node before", []string{oldMaster}, []string{oldMaster, newMaster}, true},
		{"first step, to a node before", []string{oldMaster, newMaster}, []string{oldMaster}, true},
		{"second step", []string{newMaster, oldMaster}, []string{oldMaster, newMaster}, true},
		{"second step, by a node before", []string{oldMaster, newMaster}, []string{newMaster, oldMaster}, true},
		{"last step", []string{newMaster, oldMaster}, []string{newMaster}, true},
		{"the key is gone", []string{oldMaster}, []string{newMaster}, false},
		{"the first step was skipped", []string{newMaster, oldMaster}, []string{oldMaster}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			actions, streams, ring := build(tt.made...)
			otherActions, otherStreams, otherRing := build(tt.read...)
			if _, err := otherActions.Verify(actions.Issue(&run)); (err == nil) != tt.valid {
				t.Errorf("an action token: got %v, want valid: %t", err, tt.valid)
			}
			token, _, err := streams.Issue(t.Context(), alice(time.Hour), "global")
			if err != nil {
				t.Fatal(err)
			}
			if _, err := otherStreams.Redeem(t.Context(), token, "global", "1.2.3.4"); (err == nil) != tt.valid {
				t.Errorf("a stream token: got %v, want valid: %t", err, tt.valid)
			}
			got, err := otherRing.Decrypt("k1", ring.Encrypt("k1", "secret"))
			if (err == nil && got == "secret") != tt.valid {
				t.Errorf("a secret: got %q, %v, want readable: %t", got, err, tt.valid)
			}
			made, read := auth.CursorKeys(tt.made, ""), auth.CursorKeys(tt.read, "")
			found := false
			for _, key := range read {
				found = found || bytes.Equal(key, made[0])
			}
			if found != tt.valid {
				t.Errorf("the key of cursors is accepted: %t, want %t", found, tt.valid)
			}
		})
	}
}

// A secret is encrypted again unless the first master key has encrypted it.
func TestReencrypt(t *testing.T) {
	t.Parallel()
	ring := func(keys ...string) *auth.Keyring {
		k, err := auth.NewKeyring(keys, nil, slog.New(slog.DiscardHandler), time.Now)
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	rotating, after := ring(newMaster, oldMaster), ring(newMaster)
	again, err := rotating.Reencrypt("k1", ring(oldMaster).Encrypt("k1", "secret"))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := after.Decrypt("k1", again); got != "secret" || err != nil {
		t.Errorf("without the old key: got %q, %v", got, err)
	}
	if same, err := rotating.Reencrypt("k1", again); same != nil || err != nil {
		t.Errorf("encrypted with the first key: got %x, %v, want no change", same, err)
	}
	for name, sealed := range map[string][]byte{
		"another key": ring(strings.Repeat("0d", 32)).Encrypt("k1", "secret"),
		"another id":  after.Encrypt("k2", "secret"),
		"truncated":   {1}, "empty": nil,
	} {
		if got, err := rotating.Reencrypt("k1", sealed); err == nil {
			t.Errorf("%s: got %x, want an error", name, got)
		}
	}
}

func TestMasterKeysAreChecked(t *testing.T) {
	t.Parallel()
	for _, keys := range [][]string{nil, {""}, {"short"}, {oldMaster, "zz" + newMaster[2:]}, {oldMaster, ""}} {
		if _, err := auth.NewActionTokens(keys); err == nil || !strings.Contains(err.Error(), "auth.master_key") {
			t.Errorf("%q: got %v, want an error of the setting", keys, err)
		}
	}
}
