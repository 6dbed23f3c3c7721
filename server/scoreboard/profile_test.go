package scoreboard_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

func TestProfileShownAs(t *testing.T) {
	t.Parallel()
	for name, want := range map[string][]scoreboard.UserID{
		"Alice": {"Alice", "alice", "ALICE"}, "\uff21lice": {"Alice", "alice", "ALICE"}, "Alice B": nil, "": nil,
		"\u00e9": nil,
	} {
		p := &scoreboard.Profile{DisplayName: name}
		if err := p.Normalize(); err != nil {
			t.Errorf("%q: %v", name, err)
		}
		if got := p.ShownAs(); !slices.Equal(got, want) {
			t.Errorf("%q: got %q, want %q", name, got, want)
		}
	}
}

// Names that imitate others by other letters of the same form are rejected, or stored in
// their normal form.
func TestNamesThatImitate(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"\uff21\uff4c\uff49\uff43\uff45": "Alice", "\U0001d400lice": "Alice", "Ale\u0301": "Al\u00e9", "\ufb01n": "fin",
		"Алиса": "Алиса", "Αλίκη": "Αλίκη", "アリスAlice漢字ひらがな": "アリスAlice漢字ひらがな", "김Kim金": "김Kim金",
		"ㄅ中文abc": "ㄅ中文abc", "Алиса 42 ★": "Алиса 42 ★", "हिन्दी": "हिन्दी", "สวัสดี": "สวัสดี", "שָׁלוֹם": "שָׁלוֹם",
		"q\u0323\u0307\u0301": "q\u0323\u0307\u0301", "👍🏽 Ada": "👍🏽 Ada", "👨‍👩‍👧": "👨‍👩‍👧", "🏳️‍🌈": "🏳️‍🌈",
		"\u0430lice": "", "Ali\u0441e": "", "\u0391lice": "", "Kim김ひ": "", "אlice": "", // mixed
		"q\u0323\u0307\u0301\u0302": "", strings.Repeat("\ufdfa", 2): "", // too many marks; longer in its normal form
		"ali\u200dce": "", "alice\ufe0f": "", "alice\u200d": "", "👍\u200d": "", "a\ufe0f\u20e3": "", "1\ufe0f": "",
		"ali\u200cce": "", "alice\u2063": "", "Alice \u0301": "", "alice\ufe01": "",
	} {
		p := &scoreboard.Profile{DisplayName: name}
		if err := p.Normalize(); (err == nil) != (want != "") || err == nil && p.DisplayName != want {
			t.Errorf("%q: got %q, %v, want %q", name, p.DisplayName, err, want)
		}
	}
}

// Joiners are accepted where languages are written with them, flags of regions and emoji of later
// versions are shown, and accents that stand alone stay themselves.
func TestNamesOfLanguagesAndEmoji(t *testing.T) {
	t.Parallel()
	for name, ok := range map[string]bool{
		"می\u200cخواهم": true, "کتاب\u200cها": true, // Persian
		"ශ්\u200dරී": true, "ന്\u200dറ": true, "क्\u200cष": true, // Sinhala, Malayalam, Hindi
		"അവന്\u200d": true, "അവന്\u200d കുട്ടി": true, "അവന്\u200d2": true, "क्\u200d": true, // and at an end
		"അവന്\u200d\u200d": false, "അവന\u200d": false, "അവന്\u200c\u200d": false,
		"دا\u200cد": false, "ر\u200cم": false, "ء\u200cم": false, // not joined anyway: invisible
		"م\u200c": false, "\u200cم": false, "م\u200ca": false, "क\u200cष": false, "م\u200dم": false,
		"\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f Ada": true, // England
		"\U0001f3f4\U000e0067\U000e0062":                                             false,
		"\U0001f3f4\U000e007f":                                                       false,
		"a\U000e0067\U000e0062\U000e0065\U000e007f":                                  false,
		"Ada \U0001fae9":                                                             true, // of Unicode 16
		"Ada \U0001fac8":                                                             true, // of Unicode 17
		"Ada \U000e0001":                                                             false,
		`¯\_(ツ)_/¯`:                                                                  true, "´Ada`": true, "¨": true,
	} {
		p := &scoreboard.Profile{DisplayName: name}
		if err := p.Normalize(); (err == nil) != ok || err == nil && p.DisplayName != name {
			t.Errorf("%q: got %q, %v, want it unchanged: %t", name, p.DisplayName, err, ok)
		}
		again := p.DisplayName
		if err := p.Normalize(); (err == nil) != ok || p.DisplayName != again {
			t.Errorf("%q: normalised again: %q, %v", name, p.DisplayName, err)
		}
	}
	err := (&scoreboard.Profile{DisplayName: "Al\u200bice"}).Normalize()
	if err == nil || !strings.HasSuffix(err.Error(), "character 3 is U+200B") {
		t.Errorf("got %v, want the character named", err)
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
		if err := (&scoreboard.Profile{DisplayName: name}).Normalize(); (err == nil) != ok {
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
		if err := (&scoreboard.Profile{AvatarURL: address}).Normalize(); (err == nil) != ok {
			t.Errorf("avatar %q: %v, want accepted: %t", address, err, ok)
		}
	}
}
