package config_test

import (
	"strings"
	"testing"

	"github.com/scoreboard/scoreboard/server/config"
)

func TestLoadRejectsBadGatewaySettings(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ variable, value, knob string }{
		"a pong before the ping": {"PONG_WAIT", "20s", "realtime.pong_wait"},
		"an unknown bus":         {"BUS", "pigeons", "realtime.bus"},
		"windows crossed":        {"WINDOW", "2s", "realtime.max_window"},
		"no window":              {"WINDOW", "0s", "realtime.window"},
		"a drain of nothing":     {"DRAIN_PERCENT", "0", "realtime.drain_percent"},
		"less than none":         {"CONNECTIONS_PER_NODE", "-1", "realtime.connections_per_node"},
		"no frames":              {"FRAMES_PER_MINUTE", "0", "realtime.frames_per_minute"},
		"frames without end":     {"FRAMES_PER_MINUTE", "1000000", "realtime.frames_per_minute"},
		"a life before birth":    {"LIFETIME", "-1h", "realtime.lifetime"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, _, err := config.Load(lookup(), lookup("SCOREBOARD_REALTIME_"+c.variable, c.value), nil)
			if err == nil || !strings.Contains(err.Error(), c.knob) {
				t.Errorf("got %v, want an error about %s", err, c.knob)
			}
		})
	}
}
