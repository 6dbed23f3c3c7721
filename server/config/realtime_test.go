package config_test

import (
	"strings"
	"testing"

	"github.com/scoreboard/scoreboard/server/config"
)

func TestLoadRejectsRealtimeSettings(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ variable, value, setting string }{
		"pong wait below ping":      {"PONG_WAIT", "20s", "realtime.pong_wait"},
		"unknown bus":               {"BUS", "pigeons", "realtime.bus"},
		"window above its maximum":  {"WINDOW", "2s", "realtime.max_window"},
		"window of 0":               {"WINDOW", "0s", "realtime.window"},
		"drain of 0 percent":        {"DRAIN_PERCENT", "0", "realtime.drain_percent"},
		"negative connection limit": {"CONNECTIONS_PER_NODE", "-1", "realtime.connections_per_node"},
		"0 messages":                {"MESSAGES_PER_MINUTE", "0", "realtime.messages_per_minute"},
		"excessive messages":        {"MESSAGES_PER_MINUTE", "1000000", "realtime.messages_per_minute"},
		"negative lifetime":         {"LIFETIME", "-1h", "realtime.lifetime"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, _, err := config.Load(lookup(), lookup("SCOREBOARD_REALTIME_"+c.variable, c.value), nil)
			if err == nil || !strings.Contains(err.Error(), c.setting) {
				t.Errorf("got %v, want an error that names %s", err, c.setting)
			}
		})
	}
}
