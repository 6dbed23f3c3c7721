package main

import (
	"testing"

	"github.com/scoreboard/scoreboard/client/wire"
)

// The server's own checks, while everything works and without Redis.
func TestChecks(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	c := h.client(h.start(), "root", "score:admin")
	checks := func() map[string]wire.Check {
		t.Helper()
		found, err := c.Checks(t.Context())
		if err != nil || found.Version == "" {
			t.Fatalf("got %+v, %v", found, err)
		}
		by := map[string]wire.Check{}
		for _, check := range found.Checks {
			by[check.Name] = check
			if check.Detail == "" || (check.Status != wire.CheckOK) && check.Status != wire.CheckSkipped &&
				check.NextStep == "" {
				t.Errorf("%+v lacks a detail or a next step", check)
			}
		}
		return by
	}
	healthy := checks()
	for _, name := range []string{"postgres", "redis", "kafka", "outbox", "lag"} {
		if s := healthy[name].Status; s != wire.CheckOK && s != wire.CheckWarn { // a busy machine is slow
			t.Errorf("%s: got %+v, want it ok", name, healthy[name])
		}
	}
	if healthy["configuration"].Status != wire.CheckWarn { // the tests' daemon has no limit on updates
		t.Errorf("configuration: got %+v, want a warning", healthy["configuration"])
	}
	h.redis.Stop()
	if down := checks(); down["redis"].Status != wire.CheckFail || down["postgres"].Status == wire.CheckFail {
		t.Errorf("without Redis: got %+v", down)
	}
}
