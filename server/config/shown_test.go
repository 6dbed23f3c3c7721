package config_test

import (
	"slices"
	"testing"

	"github.com/scoreboard/scoreboard/server/config"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Secrets in URLs are masked: a password, and the values of a query, as they are deployed, as
// they are stored, and in the audit trail.
func TestSecretsInURLsAreMasked(t *testing.T) {
	t.Parallel()
	const address = "https://id.example/keys?token=hunter2&tenant=t1"
	const masked = "https://id.example/keys?token=********&tenant=********"
	if got := config.Shown("auth.jwks_url", address); got != masked {
		t.Errorf("got %s, want %s", got, masked)
	}
	for text, want := range map[string]string{
		"https://ada:pw@id.example/keys":      "https://********@id.example/keys",
		"https://id.example/keys":             "https://id.example/keys",
		"https://id.example/a?b,https://c?d=": "https://id.example/a?b,https://c?d=",
	} {
		if got := config.Shown("auth.jwks_url", text); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
	if got := config.Shown("no.such", "text"); got != config.Mask {
		t.Errorf("an unknown setting is shown: %s", got)
	}
	c, values, err := config.Load(lookup("auth-jwks-url", address, "auth-audience", "a"), lookup(), nil)
	if err != nil {
		t.Fatal(err)
	}
	shows := func(values []config.Value) string {
		return values[slices.IndexFunc(values, func(v config.Value) bool { return v.Name == "auth.jwks_url" })].Text
	}
	if got := shows(values); got != masked {
		t.Errorf("as deployed: %s, want %s", got, masked)
	}
	text := address
	next, err := c.With([]scoreboard.StoredSetting{{Name: "auth.jwks_url", Value: &text}})
	if err != nil {
		t.Fatal(err)
	}
	if got := shows(next.Values()); got != masked {
		t.Errorf("as stored: %s, want %s", got, masked)
	}
}
