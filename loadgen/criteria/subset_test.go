package criteria

import (
	"slices"
	"strings"
	"testing"
)

func texts(s *Scenario) []string {
	var all []string
	for _, c := range s.Criteria {
		all = append(all, c.String())
	}
	return all
}

// A criterion that was loosened or removed fails here.
func TestProfilesHaveTheSpecifiedCriteria(t *testing.T) {
	t.Parallel()
	for name, criteria := range map[string]string{
		"A": "increments.rate >= 10000; duration >= 900000ms; errors < 1%; api.p95 <= 200ms; " +
			"freshness.client.p95 <= 1000ms; freshness.redis.p95 <= 2000ms; " +
			"doubled == 0; acks.recorded == 100%; rejected.recorded == 0; unresolved == 0; " +
			"top.correct == 100%; me.correct == 100%; " +
			"signatures.rejected == 100%; replays.rejected == 100%; conflicts.rejected == 100%; " +
			"limits.enforced == 100%; " +
			"audit.found == 100%; alerts.loaded == 100%; metrics.found == 100%",
		"B": "freshness.client.p95 <= 500ms; freshness.client.p99 <= 1000ms; reads.p95 <= 100ms; reads.p99 <= 500ms; " +
			"doubled == 0; replays.rejected == 100%; top.correct == 100%; me.correct == 100%; " +
			"increments.rate >= 10000; unresolved == 0; audit.found == 100%; limits.enforced == 100%; " +
			"conflicts.rejected == 100%; signatures.rejected == 100%",
		"C": "freshness.client.max < 1000ms; doubled == 0; replays.rejected == 100%; audit.found == 100%; " +
			"top.correct == 100%",
		"D": "increments.rate >= 495; freshness.client.p95 <= 1000ms; doubled == 0; replays.rejected == 100%; " +
			"conflicts.rejected == 100%; signatures.rejected == 100%; limits.enforced == 100%; " +
			"audit.found == 100%; top.correct == 100%",
		"E": "increments.rate >= 600; reads.rate >= 5000; redis.p95 < 10ms; reads.p95 <= 100ms; doubled == 0; " +
			"top.correct == 100%; audit.found == 100%; rejected.recorded == 0",
	} {
		s, err := Read(Profiles(), name)
		if err != nil {
			t.Fatal(err)
		}
		got := texts(s)
		for _, want := range append(strings.Split(criteria, "; "), "lost == 0", "behind <= 1%", "samples > 0") {
			i := slices.Index(got, want)
			if i < 0 {
				t.Errorf("%s has no criterion %s", name, want)
				continue
			}
			if s.Criteria[i].Source == "" {
				t.Errorf("%s: criterion %s has no source", name, want)
			}
			if slices.Contains(got[i+1:], want) {
				t.Errorf("%s has the criterion %s twice", name, want)
			}
		}
	}
}

func TestSubsets(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		only          func(*Scenario) error
		with, without string
	}{
		"correctness": {
			(*Scenario).Correctness,
			"faults.done == 100%; lost == 0; doubled == 0; unresolved == 0; top.correct == 100%",
			"api.p95 <= 200ms; errors < 1%",
		},
		"under load": {
			(*Scenario).UnderLoad, "drained <= 5000ms; lost == 0; api.p95 <= 200ms; behind <= 1%; errors < 1%",
			"increments.rate >= 10000; alerts.loaded == 100%",
		},
	} {
		s, err := Read(Profiles(), "A")
		if err != nil {
			t.Fatal(err)
		}
		if err := c.only(s); err != nil {
			t.Fatal(err)
		}
		got := texts(s)
		for _, want := range strings.Split(c.with, "; ") {
			if !slices.Contains(got, want) {
				t.Errorf("%s has no criterion %s", name, want)
			}
		}
		for _, not := range strings.Split(c.without, "; ") {
			if slices.Contains(got, not) {
				t.Errorf("%s has the criterion %s", name, not)
			}
		}
		if !s.Scaled {
			t.Errorf("%s is not scaled", name)
		}
	}
}
