package config

import (
	"os"
	"strings"
	"testing"
	"time"
)

func lookupIn(values map[string]string) Lookup {
	return func(name string) (string, bool) { value, ok := values[name]; return value, ok }
}

func TestAliasesOfDelta(t *testing.T) {
	t.Parallel()
	env := map[string]string{
		"SCOREBOARD_DIALECTS": "plain, delta", "LEADERBOARD_TOP_N": "25", "SCORE_DELTA_MIN": "-50",
		"SCORE_DELTA_MAX": "500", "RATE_LIMIT_POINTS": "30", "RATE_LIMIT_DURATION": "10",
		"JWT_JWKS_URL": "https://id.example/keys", "JWT_ISSUER": "https://id.example/", "JWT_AUDIENCE": "scores",
		"OUTBOX_POLL_INTERVAL": "200ms", "OUTBOX_BATCH_SIZE": "100", "WEBSOCKET_PING_INTERVAL": "25s",
		"SCOREBOARD_AUTH_MASTER_KEY": strings.Repeat("00", 32),
	}
	none := lookupIn(nil)
	c, values, err := Load(none, lookupIn(env), strings.NewReader("reads.top_n: 50\n"))
	if err != nil {
		t.Fatal(err)
	}
	if c.Reads.TopN != 25 || c.Dialects.DeltaMin != "-50" || c.Dialects.DeltaMax != "500" ||
		c.Limit.UpdatesPerMinute != 30 ||
		c.Limit.UpdatesWindow != 10*time.Second || c.Auth.JWKSURL != "https://id.example/keys" ||
		c.Auth.Issuer != "https://id.example/" || c.Auth.Audience != "scores" ||
		c.Outbox.Poll != 200*time.Millisecond || c.Outbox.Batch != 100 || c.Realtime.Ping != 25*time.Second {
		t.Errorf("got %+v", c)
	}
	sources := 0
	for _, v := range values {
		if a, ok := deltaAliases[v.Name]; ok {
			sources++
			if want := Source("environment: " + a.name); v.Source != want {
				t.Errorf("%s: got the source %s, want %s", v.Name, v.Source, want)
			}
		}
	}
	if sources != len(deltaAliases) || sources != len(env)-2 {
		t.Errorf("%d settings have an alias, want %d", sources, len(deltaAliases))
	}

	// A setting's own variable and its flag take precedence.
	env["SCOREBOARD_READS_TOP_N"] = "11"
	env["RATE_LIMIT_DURATION"] = "1m30s"
	c, values, err = Load(lookupIn(map[string]string{"outbox-batch": "7"}), lookupIn(env), nil)
	if err != nil || c.Reads.TopN != 11 || c.Outbox.Batch != 7 || c.Limit.UpdatesWindow != 90*time.Second {
		t.Errorf("got %d rows, batches of %d, a window of %s, %v", c.Reads.TopN, c.Outbox.Batch,
			c.Limit.UpdatesWindow, err)
	}
	for _, v := range values {
		if v.Name == "reads.top_n" && v.Source != FromEnv || v.Name == "outbox.batch" && v.Source != FromFlag {
			t.Errorf("%s: got the source %s", v.Name, v.Source)
		}
	}

	// Other dialects have none.
	env["SCOREBOARD_DIALECTS"] = "highscore,module,plain"
	c, _, err = Load(none, lookupIn(env), nil)
	if err != nil || c.Dialects.DeltaMax == "500" || c.Auth.JWKSURL != "" || c.Auth.Issuer != "scoreboard-dev" {
		t.Errorf("without delta: got a maximum of %s, the key set %q, the issuer %q, %v", c.Dialects.DeltaMax,
			c.Auth.JWKSURL, c.Auth.Issuer, err)
	}
}

func TestAliasesWithMistakes(t *testing.T) {
	t.Parallel()
	for name, value := range map[string]string{
		"LEADERBOARD_TOP_N": "101", "RATE_LIMIT_POINTS": "ten", "RATE_LIMIT_DURATION": "0", "SCORE_DELTA_MIN": "1.5",
		"OUTBOX_POLL_INTERVAL": "200", "WEBSOCKET_PING_INTERVAL": "2m", "JWT_ISSUER": "",
	} {
		env := lookupIn(map[string]string{"SCOREBOARD_DIALECTS": "delta", name: value})
		if _, _, err := Load(lookupIn(nil), env, nil); err == nil {
			t.Errorf("%s=%s is accepted", name, value)
		}
	}
	env := lookupIn(map[string]string{"SCOREBOARD_DIALECTS": "delta", "RATE_LIMIT_POINTS": "ten"})
	_, _, err := Load(lookupIn(nil), env, nil)
	want := `setting limit.updates_per_minute must be a whole number, not "ten" ` +
		`(from the environment: RATE_LIMIT_POINTS)`
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// docs/settings.md lists every alias.
func TestAliasesAreDocumented(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(reference)
	if err != nil {
		t.Fatal(err)
	}
	for setting, a := range deltaAliases {
		found := false
		for line := range strings.Lines(string(text)) {
			found = found || strings.Contains(line, "`"+a.name+"`") && strings.Contains(line, "`"+setting+"`")
		}
		if !found {
			t.Errorf("no line of %s names %s and %s", reference, a.name, setting)
		}
	}
}
