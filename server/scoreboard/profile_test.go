package scoreboard_test

import (
	"strings"
	"testing"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

func TestProfileShownAs(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]scoreboard.UserID{
		"alice": "alice", "ali\u200dce": "alice", "alice\ufe0f": "alice", "Alice B": "", "": "", "\u00e9": "",
	} {
		if got, ok := (&scoreboard.Profile{DisplayName: name}).ShownAs(); got != want || ok != (want != "") {
			t.Errorf("%q: got %q, %t, want %q", name, got, ok, want)
		}
	}
}

func TestProfileCheck(t *testing.T) {
	t.Parallel()
	for name, ok := range map[string]bool{
		"": true, "Alice": true, "Zoë van der Berg": true, "アリス": true, "علي": true, "👩‍🚀 Ada": true, "❤️": true,
		strings.Repeat("é", 32): true,
		strings.Repeat("a", 33): false, " Alice": false, "Alice ": false, "Al  ice": false, " ": false,
		"Al\nice": false, "Al\tice": false,
		"Al\x00ice": false, "Al\u202eice": false, "Al\u200bice": false, "\u200d": false, "Al\u00a0ice": false,
		"Al\u2028ice": false, "\xff": false,
		"\u2800": false, "Al\u2800": false, "\u3164": false, "\u115f\u1160": false, "\uffa0": false,
		"\U0001d159": false,
		"Al\u034f":   false, "\u0301": false, " \u0301": false, "\u17b4": false, "\u180b": false, "\U000e0100": false,
		"Ale\u0301": true, "\u0905\u0902": true, "1\ufe0f\u20e3": true,
		"\u2066Al": false, "\ufeffAl": false, "\u00adAl": false,
	} {
		if err := (&scoreboard.Profile{DisplayName: name}).Check(); (err == nil) != ok {
			t.Errorf("name %q: %v, want accepted: %t", name, err, ok)
		}
	}
	for address, ok := range map[string]bool{
		"": true, "https://cdn.example/a.png?s=64&v=2": true, "https://cdn.example/" + strings.Repeat("a", 492): true,
		"https://cdn.example/" + strings.Repeat("a", 493): false, "http://cdn.example/a.png": false,
		"javascript:alert(1)":        false,
		"data:image/png;base64,AAAA": false, "//cdn.example/a.png": false, "https://": false, "https:///a.png": false,
		"https://user:secret@cdn.example/a": false, "https://cdn.example/a b": false,
		"https://cdn.example/\"onerror=": false,
		"cdn.example/a":                  false,
		"https://cdn.example/é":          false, "https://cdn.example:x/": false,
	} {
		if err := (&scoreboard.Profile{AvatarURL: address}).Check(); (err == nil) != ok {
			t.Errorf("avatar %q: %v, want accepted: %t", address, err, ok)
		}
	}
}
