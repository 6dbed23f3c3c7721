package store_test

import (
	"context"
	"log/slog"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/internal/test/storetest"
	"github.com/scoreboard/scoreboard/server/http/auth"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// All valid secrets are encrypted with the first master key, however many there are, with one audit
// entry; a repeat changes nothing. What neither key decrypts is named and stays as it is.
func TestReencryptAll(t *testing.T) {
	t.Parallel()
	s, db := storetest.New(t)
	ring := func(keys ...string) *auth.Keyring {
		k, err := auth.NewKeyring(keys, s.Keys, slog.New(slog.DiscardHandler), time.Now)
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	first, second, lost := strings.Repeat("0e", 32), strings.Repeat("0f", 32), strings.Repeat("0d", 32)
	before, rotating, after := ring(second), ring(first, second), ring(first)
	const keys = 1100 // three batches
	for i := range keys {
		id := "k" + strconv.Itoa(i)
		secret := before.Encrypt(id, "secret "+id)
		if _, err := s.Keys.CreateKey(t.Context(), id, "game", secret, &scoreboard.KeyScope{}, 0,
			nil); err != nil {
			t.Fatal(err)
		}
	}
	for id, seal := range map[string][]byte{
		"revoked": before.Encrypt("revoked", "x"), "foreign": ring(lost).Encrypt("foreign", "x"),
		"current": after.Encrypt("current", "x"),
	} {
		if _, err := s.Keys.CreateKey(t.Context(), id, "game", seal, &scoreboard.KeyScope{}, 0, nil); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Keys.RevokeKey(t.Context(), "revoked", nil); err != nil {
		t.Fatal(err)
	}
	// Two secrets of one key.
	if _, err := s.Keys.RotateKey(t.Context(), "k7", before.Encrypt("k7", "another"), time.Hour, nil); err != nil {
		t.Fatal(err)
	}
	// A key with two secrets that cannot be decrypted is named once.
	if _, err := s.Keys.RotateKey(t.Context(), "foreign", ring(lost).Encrypt("foreign", "y"), time.Hour,
		nil); err != nil {
		t.Fatal(err)
	}
	hook := &scoreboard.Webhook{
		ID: "wh_1", URL: "https://example.com/", Types: []scoreboard.WebhookType{scoreboard.WebhookUserFlagged},
	}
	if _, err := s.Webhooks.Create(t.Context(), hook, before.Encrypt("wh_1", "whsec"), nil); err != nil {
		t.Fatal(err)
	}

	want := scoreboard.Reencryption{Changed: keys + 2, Unchanged: 1, Unreadable: []string{"foreign"}}
	if got, err := s.Secrets.Check(t.Context(), rotating.Reencrypt); err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("the check: got %+v, %v, want %+v", got, err, want)
	}
	why := &scoreboard.AuditEntry{Actor: "root", Action: "master_key.rotate", Target: "master-key"}
	got, err := s.Secrets.ReencryptAll(t.Context(), rotating.Reencrypt, why)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("got %+v, %v, want %+v", got, err, want)
	}
	want = scoreboard.Reencryption{Unchanged: keys + 3, Unreadable: []string{"foreign"}}
	got, err = s.Secrets.ReencryptAll(t.Context(), rotating.Reencrypt, why)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("a repeat: got %+v, %v, want %+v", got, err, want)
	}
	if n := db.Count(t, `select count(*) from audit_log where action = 'master_key.rotate'`); n != 1 {
		t.Errorf("got %d audit entries, want 1", n)
	}
	for _, i := range []int{0, 7, keys - 1} {
		id := "k" + strconv.Itoa(i)
		if !accepts(t, after, id, "secret "+id) {
			t.Errorf("without the old master key, the secret of %s is not accepted", id)
		}
	}
	if !accepts(t, after, "k7", "another") {
		t.Error("the second secret of a key is not accepted")
	}
	sealed, err := s.Webhooks.Secrets(t.Context(), "wh_1")
	if err != nil || len(sealed) != 1 {
		t.Fatalf("got %d secrets of the webhook, %v", len(sealed), err)
	}
	if got, err := after.Decrypt("wh_1", sealed[0]); got != "whsec" || err != nil {
		t.Errorf("the webhook: got %q, %v", got, err)
	}
}

// A transaction that holds a key, or hangs, does not keep the rotation waiting: it fails and is repeated.
func TestReencryptAllOfALockedSecret(t *testing.T) {
	t.Parallel()
	s, db := storetest.New(t)
	rotating, err := auth.NewKeyring([]string{strings.Repeat("0e", 32), strings.Repeat("0f", 32)}, s.Keys,
		slog.New(slog.DiscardHandler), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Keys.CreateKey(t.Context(), "k1", "game", rotating.Encrypt("k1", "secret"), &scoreboard.KeyScope{},
		0, nil); err != nil {
		t.Fatal(err)
	}
	other := backends.Connect(t, db.URL)
	other.Do(t, `begin`)
	other.Do(t, `select 1 from key_secrets for update`)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	why := &scoreboard.AuditEntry{Actor: "root", Action: "master_key.rotate", Target: "master-key"}
	if _, err := s.Secrets.ReencryptAll(ctx, rotating.Reencrypt, why); ctx.Err() != nil ||
		wire.CodeOf(err) != wire.CodeUnavailable {
		t.Errorf("got %v, %v, want unavailable", err, ctx.Err())
	}
}
