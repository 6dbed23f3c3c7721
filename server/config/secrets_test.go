package config_test

import (
	"strings"
	"testing"

	"github.com/scoreboard/scoreboard/server/config"
)

func TestWeakSecrets(t *testing.T) {
	t.Parallel()
	const sequence = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
	const good = "5fd1c1b0f8d54a0f6f2f4f0a8f3e1c9be8d70a64d2b35c1e97a860f14bd2c357"
	for _, c := range []struct{ jwt, master, weak string }{
		{"", "", ""},
		{good, good, ""},
		{"a secret of the tests, long enough for HS256", good, ""},
		{"secret", good, "auth.jwt_secret"},
		{strings.Repeat("x", 31), good, "auth.jwt_secret"},
		{strings.Repeat("x", 64), good, "auth.jwt_secret"},
		{"for-evaluation-only-change-me-0123456789", good, "auth.jwt_secret"},
		{sequence, good, "auth.jwt_secret"},
		{good, sequence, "auth.master_key"},
		{good, strings.ToUpper(sequence), "auth.master_key"},
		{good, strings.Repeat("0f", 32), "auth.master_key"},
		{good, strings.Repeat("0", 64), "auth.master_key"},
		{good, good[:62], "auth.master_key"},
		{good, "no hex", "auth.master_key"},
	} {
		loaded, _, err := config.Load(lookup("auth-jwt-secret", c.jwt, "auth-master-key", c.master), lookup(), nil)
		if err != nil {
			t.Fatalf("%q and %q: %v", c.jwt, c.master, err)
		}
		err = loaded.CheckSecrets()
		if c.weak == "" {
			if err != nil {
				t.Errorf("%q and %q: got %v, want them accepted", c.jwt, c.master, err)
			}
			continue
		}
		if err == nil || !strings.HasPrefix(err.Error(), "setting "+c.weak+" ") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q and %q: got %v, want one line that names %s", c.jwt, c.master, err, c.weak)
			continue
		}
		for _, secret := range []string{c.jwt, c.master} {
			if len(secret) > 6 && strings.Contains(err.Error(), secret) {
				t.Errorf("the error contains the secret: %v", err)
			}
		}
	}
}
