package scoreboard_test

import (
	"strings"
	"testing"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

func TestExternalUserID(t *testing.T) {
	t.Parallel()
	for external, want := range map[string]scoreboard.UserID{
		"alice":                        "alice",
		"ada@example.com":              "ada@example.com",
		"auth0|5f7c8ec7":               "x:mf2xi2bqpq2wmn3dhbswgny",
		"ada+game@example.com":         "x:mfsgck3hmfwwkqdfpbqw24dmmuxgg33n",
		"me":                           "x:nvsq",
		"x:mf2xi2bqpq2wmn3dhbswgny":    "x:pa5g2zrspbuteytrobyte53nnyzwi2dcon3wo3tz",
		"h:alice":                      "x:na5gc3djmnsq",
		"Zoë":                          "x:ljx4hky",
		"team:ants":                    "x:orswc3j2mfxhi4y",
		"erased-ada":                   "x:mvzgc43fmqwwczdb",
		"role:admin":                   "x:ojxwyzj2mfsg22lo",
		"scoreboardd":                  "x:onrw64tfmjxwc4temq",
		"scoreboardds":                 "scoreboardds",
		"teams:ants":                   "teams:ants",
		strings.Repeat("a", 64):        scoreboard.UserID(strings.Repeat("a", 64)),
		"|" + strings.Repeat("a", 37):  scoreboard.UserID("x:" + strings.Repeat("?", 61)),
		"|" + strings.Repeat("a", 38):  scoreboard.UserID("h:" + strings.Repeat("?", 52)),
		strings.Repeat("a", 65):        scoreboard.UserID("h:" + strings.Repeat("?", 52)),
		strings.Repeat("é", 127) + "a": scoreboard.UserID("h:" + strings.Repeat("?", 52)),
		"":                             "",
		"a\x00b":                       "",
		"\xff":                         "",
		strings.Repeat("a", 256):       "",
	} {
		got, err := scoreboard.ExternalUserID(external)
		if (err != nil) != (want == "") || !matches(string(got), string(want)) {
			t.Errorf("%.40q: got %s, %v, want %s", external, got, err, want)
		}
	}
}

// matches compares with a pattern in which ? is any character.
func matches(text, pattern string) bool {
	if len(text) != len(pattern) {
		return false
	}
	for i := range len(text) {
		if pattern[i] != '?' && pattern[i] != text[i] {
			return false
		}
	}
	return true
}

// Different external ids are different users, also one that looks like another's derived id.
func FuzzExternalUserID(f *testing.F) {
	f.Add("auth0|5f7c", "x:mf2xi2bqpq2wmn3d")
	f.Add("me", "x:nvsq")
	f.Add("h:a", "x:na5gc")
	f.Fuzz(func(t *testing.T, one, other string) {
		a, err := scoreboard.ExternalUserID(one)
		if err != nil {
			return
		}
		if _, err := scoreboard.ParseUserID(string(a)); err != nil {
			t.Fatalf("%q becomes %s: %v", one, a, err)
		}
		// The id of the first user as an external id, too: no external id becomes it twice.
		for _, text := range []string{other, string(a)} {
			if b, err := scoreboard.ExternalUserID(text); err == nil && (a == b) != (one == text) {
				t.Fatalf("%q becomes %s, %q becomes %s", one, a, text, b)
			}
		}
	})
}
