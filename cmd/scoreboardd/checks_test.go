package main

import (
	"testing"

	"github.com/scoreboard/scoreboard/server/protocol"
)

// The server's own checks, while everything works and without Redis.
func TestChecks(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	c := h.client(h.start(), "root", "score:admin")
	checks := func() map[string]protocol.Check {
		t.Helper()
		found, err := c.Checks(t.Context())
		if err != nil || found.Version == "" {
			t.Fatalf("got %+v, %v", found, err)
		}
		by := map[string]protocol.Check{}
		for _, check := range found.Checks {
			by[check.Name] = check
			if check.Detail == "" || (check.Status != protocol.CheckOK) && check.Status != protocol.CheckSkipped &&
				check.NextStep == "" {
				t.Errorf("%+v lacks a detail or a next step", check)
			}
		}
		return by
	}
	healthy := checks()
	for _, name := range []string{"postgres", "redis", "kafka", "outbox", "lag"} {
		if s := healthy[name].Status; s != protocol.CheckOK && s != protocol.CheckWarn { // a busy machine is slow
			t.Errorf("%s: got %+v, want it ok", name, healthy[name])
		}
	}
	if healthy["configuration"].Status != protocol.CheckWarn { // the tests' daemon has no limit on updates
		t.Errorf("configuration: got %+v, want a warning", healthy["configuration"])
	}
	h.redis.Stop()
	if down := checks(); down["redis"].Status != protocol.CheckFail || down["postgres"].Status == protocol.CheckFail {
		t.Errorf("without Redis: got %+v", down)
	}
}
