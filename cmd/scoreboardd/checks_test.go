package main

import (
	"testing"

	"github.com/scoreboard/scoreboard/server/protocol"
)

// What a server finds when it looks at itself, well and with Redis gone.
func TestChecks(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	c := h.client(h.start(), "root", "score:admin")
	look := func() map[string]protocol.Check {
		t.Helper()
		found, err := c.Checks(t.Context())
		if err != nil || found.Version == "" {
			t.Fatalf("got %+v, %v", found, err)
		}
		by := map[string]protocol.Check{}
		for _, check := range found.Checks {
			by[check.Name] = check
			if check.Detail == "" || (check.Status != protocol.CheckOK) && check.Status != protocol.CheckSkipped && check.NextStep == "" {
				t.Errorf("%+v says too little", check)
			}
		}
		return by
	}
	well := look()
	for _, name := range []string{"postgres", "redis", "kafka", "outbox", "lag"} {
		if s := well[name].Status; s != protocol.CheckOK && s != protocol.CheckWarn { // a busy machine is slow
			t.Errorf("%s: got %+v, want it well", name, well[name])
		}
	}
	if well["configuration"].Status != protocol.CheckWarn { // the tests' daemon has no limit on updates
		t.Errorf("configuration: got %+v, want a warning", well["configuration"])
	}
	h.redis.Stop()
	if ill := look(); ill["redis"].Status != protocol.CheckFail || ill["postgres"].Status == protocol.CheckFail {
		t.Errorf("without Redis: got %+v", ill)
	}
}
