package config

import "github.com/scoreboard/scoreboard/internal/tracing"

// OTLP is where traces go.
type OTLP struct {
	Endpoint string // "": no traces
	Sample   float64
}

func (o *OTLP) settings() []setting {
	return []setting{
		{
			"otlp.endpoint", "base URL of an OpenTelemetry collector, such as http://collector:4318, that receives " +
				"traces by OTLP over HTTP; no traces if empty",
			"", fixed, &o.Endpoint,
		},
		{
			"otlp.sample", "share of requests that are traced, 0 to 1; clients can force ten more a second on each " +
				"node",
			"0.01", fixed, &o.Sample,
		},
	}
}

func (o *OTLP) check(p *problems) {
	if o.Endpoint != "" {
		if err := tracing.CheckEndpoint(o.Endpoint); err != nil {
			p.add("otlp.endpoint", "%s", err)
		}
	}
	if !(o.Sample >= 0 && o.Sample <= 1) { // NaN is neither
		p.add("otlp.sample", "must be 0 to 1, not %g", o.Sample)
	}
}
