package criteria

import "slices"

// correctness are the quantities that faults must not touch: what was
// acknowledged is there once, and shown.
var correctness = []string{
	"samples", "lost", "doubled", "unresolved", "acks.recorded", "refused.recorded", "audit.found",
	"replays.rejected", "conflicts.rejected", "signatures.rejected", "top.correct", "me.correct",
}

// underLoad are the quantities that a higher rate makes worse.
var underLoad = []string{
	"samples", "errors", "behind", "lost", "doubled", "unresolved", "acks.recorded", "refused.recorded",
	"freshness.redis.p95", "freshness.client.p95", "api.p95", "api.p99",
}

// Correctness leaves only what must hold while parts are broken on purpose, and
// asks that they were broken.
func (s *Scenario) Correctness() error {
	return s.only(correctness, "faults.done == 100%", "what is to be survived must have happened")
}

// UnderLoad leaves only what tells whether a rate is held, and asks that the
// pipeline keeps up with it.
func (s *Scenario) UnderLoad() error {
	return s.only(underLoad, "drained <= 5s", "a rate that only fills queues is not held")
}

// only keeps some criteria and adds one. What is left proves less than the whole.
func (s *Scenario) only(names []string, check, source string) error {
	s.Criteria = slices.DeleteFunc(s.Criteria, func(c Criterion) bool { return !slices.Contains(names, c.Name) })
	s.Scaled = true
	c, err := Parse(check, source)
	s.Criteria = append(s.Criteria, c)
	return err
}
