package criteria

import "slices"

// correctness are the quantities that faults must not affect: acknowledged
// increments are recorded once and visible.
var correctness = []string{
	"samples", "lost", "doubled", "unresolved", "acks.recorded", "rejected.recorded", "audit.found",
	"replays.rejected", "conflicts.rejected", "signatures.rejected", "top.correct", "me.correct",
}

// underLoad are the quantities that get worse with a higher rate.
var underLoad = []string{
	"samples", "errors", "behind", "lost", "doubled", "unresolved", "acks.recorded", "rejected.recorded",
	"freshness.redis.p95", "freshness.client.p95", "api.p95", "api.p99",
}

// Correctness keeps only the criteria that must hold under injected faults, and
// requires that the faults happened.
func (s *Scenario) Correctness() error {
	return s.only(correctness, "faults.done == 100%", "every fault must have been injected")
}

// UnderLoad keeps only the criteria of a sustained rate, and requires that the
// pipeline keeps up with it.
func (s *Scenario) UnderLoad() error {
	return s.only(underLoad, "drained <= 5s", "a rate that only fills queues is not sustained")
}

// only keeps the named criteria and adds one. The scenario is then scaled, because
// it proves less than the whole.
func (s *Scenario) only(names []string, check, source string) error {
	s.Criteria = slices.DeleteFunc(s.Criteria, func(c Criterion) bool { return !slices.Contains(names, c.Name) })
	s.Scaled = true
	c, err := Parse(check, source)
	s.Criteria = append(s.Criteria, c)
	return err
}
