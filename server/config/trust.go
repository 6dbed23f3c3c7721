package config

import (
	"fmt"
	"regexp"
	"slices"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

var headerName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// checkTrust refuses rules that cannot be meant.
func (c *Config) checkTrust() error {
	if c.IngestLeastDelta > c.IngestMostDelta || c.IngestLeastDelta < -scoreboard.MaxScore || c.IngestMostDelta > scoreboard.MaxScore {
		return fmt.Errorf("knobs ingest.least_delta and ingest.most_delta must be within ±%d, and the first not above the second", int64(scoreboard.MaxScore))
	}
	modes := map[string]string{
		"anomaly.size": c.AnomalySize, "anomaly.frequency": c.AnomalyFrequency, "anomaly.amount": c.AnomalyAmount, "anomaly.travel": c.AnomalyTravel,
	}
	for name, mode := range modes {
		if !slices.Contains([]string{"off", "log", "flag", "enforce"}, mode) {
			return fmt.Errorf("knob %s must be off, log, flag or enforce, not %q", name, mode)
		}
	}
	if c.AnomalySizeFactor < 2 {
		return fmt.Errorf("knob anomaly.size_factor must be at least 2, not %d", c.AnomalySizeFactor)
	}
	if c.AnomalyFrequencyMost.N > scoreboard.MaxQuota {
		return fmt.Errorf("knob anomaly.frequency_most counts up to %d events", scoreboard.MaxQuota)
	}
	if c.AnomalyTravelWindow <= 0 || c.AnomalyTravelWindow > scoreboard.MaxRuleWindow {
		return fmt.Errorf("knob anomaly.travel_window must be longer than 0 and at most %s", scoreboard.MaxRuleWindow)
	}
	if c.AnomalyCountryHeader != "" && len(c.TrustedProxies) == 0 {
		return fmt.Errorf("knob anomaly.country_header is believed from trusted_proxies alone, and none are named")
	}
	if c.AnomalyCountryHeader != "" && !headerName.MatchString(c.AnomalyCountryHeader) {
		return fmt.Errorf("knob anomaly.country_header must be the name of a header, such as CF-IPCountry, not %q", c.AnomalyCountryHeader)
	}
	if c.RetentionAddresses < 0 {
		return fmt.Errorf("knob retention.addresses must not be negative")
	}
	if c.ReadsTopN < 1 || c.ReadsTopN > scoreboard.TopSize {
		return fmt.Errorf("knob reads.top_n must be 1 to %d, not %d", scoreboard.TopSize, c.ReadsTopN)
	}
	return nil
}
