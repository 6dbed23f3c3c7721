package main

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

// During an outage of Redis its client logs lines of its own: they are lines of the daemon's log, at
// level debug, and nothing else is written to stderr.
func TestRedisClientWritesToTheLog(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	d := h.start("--transport", "direct", "--log-level", "debug")
	h.redis.Stop()
	eventually(t, "the daemon to notice", func() error {
		if body, err := d.readyz(); err != nil || !strings.Contains(body, `"redis":"does not answer"`) {
			return errors.Join(err, errors.New(body))
		}
		return nil
	})
	h.redis.Start()
	if err := d.stop(); err != nil {
		t.Fatal(err)
	}
	found := false
	for line := range strings.Lines(d.logs.String()) {
		var l struct{ Level, Msg string }
		if err := json.Unmarshal([]byte(line), &l); err != nil || l.Msg == "" {
			t.Errorf("a line of stderr is %q", line)
		}
		if l.Msg == "Redis client" {
			found = true
			if l.Level != "DEBUG" {
				t.Errorf("got the line %q, want it at level debug", line)
			}
		}
	}
	if !found {
		t.Error("the Redis client has logged nothing: the test shows nothing")
	}
}
