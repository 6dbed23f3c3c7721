package config

import (
	"fmt"
	"time"
)

// What carries notices to gateways.
const (
	BusRedis = "redis"
	BusKafka = "kafka"
)

// A frame goes to everybody who watches a board, a sign of life to everybody who
// is idle: more often, a node would do nothing else.
const (
	minRealtimeWindow = 10 * time.Millisecond
	minRealtimePing   = time.Second
)

// maxFramesPerMinute bounds what is kept of each connection: 4 bytes for each
// frame of a second.
const maxFramesPerMinute = 6000

func (c *Config) checkRealtime() error {
	counts := map[string]int{
		"realtime.connections_per_user": c.RealtimeConnectionsPerUser, "realtime.connections_per_address": c.RealtimeConnectionsPerAddress,
		"realtime.connections_per_node": c.RealtimeConnectionsPerNode, "realtime.joins_per_second": c.RealtimeJoinsPerSecond,
	}
	for name, n := range counts {
		if n < 0 {
			return fmt.Errorf("knob %s must not be below 0, as %d is", name, n)
		}
	}
	lengths := map[string]time.Duration{
		"realtime.lag": c.RealtimeLag, "realtime.slow_after": c.RealtimeSlowAfter, "realtime.reconnect_within": c.RealtimeReconnectWithin,
	}
	for name, d := range lengths {
		if d <= 0 {
			return fmt.Errorf("knob %s must be longer than 0, not %s", name, d)
		}
	}
	switch {
	case c.RealtimeBus != BusRedis && c.RealtimeBus != BusKafka:
		return fmt.Errorf("knob realtime.bus must be redis or kafka, not %q", c.RealtimeBus)
	case c.RealtimeWindow < minRealtimeWindow:
		return fmt.Errorf("knob realtime.window must be at least %s, not %s", minRealtimeWindow, c.RealtimeWindow)
	case c.RealtimePing < minRealtimePing:
		return fmt.Errorf("knob realtime.ping must be at least %s, not %s", minRealtimePing, c.RealtimePing)
	case c.RealtimeMaxWindow < c.RealtimeWindow:
		return fmt.Errorf("knob realtime.max_window (%s) must not be below realtime.window (%s)", c.RealtimeMaxWindow, c.RealtimeWindow)
	case c.RealtimePongWait <= c.RealtimePing:
		return fmt.Errorf("knob realtime.pong_wait (%s) must be above realtime.ping (%s)", c.RealtimePongWait, c.RealtimePing)
	case c.RealtimeFramesPerMinute < 1 || c.RealtimeFramesPerMinute > maxFramesPerMinute:
		return fmt.Errorf("knob realtime.frames_per_minute must be 1 to %d, not %d", maxFramesPerMinute, c.RealtimeFramesPerMinute)
	case c.RealtimeDrainPercent < 1 || c.RealtimeDrainPercent > 100:
		return fmt.Errorf("knob realtime.drain_percent must be 1 to 100, not %d", c.RealtimeDrainPercent)
	case c.RealtimeLifetime < 0:
		return fmt.Errorf("knob realtime.lifetime must not be below 0, as %s is", c.RealtimeLifetime)
	}
	return nil
}
