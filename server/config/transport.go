package config

import "slices"

// Transports of events.
const (
	TransportKafka   = "kafka"
	TransportStreams = "streams"
	TransportDirect  = "direct"
)

var transports = []string{TransportKafka, TransportStreams, TransportDirect}

// Carries reports whether this process can do its part of the work with a
// transport: Kafka must be known to it, and without a broker in between a relay
// needs the projector beside it. Redis it has anyway.
func (c *Config) Carries(transport string) bool {
	switch transport {
	case TransportKafka:
		return len(c.KafkaBrokers) > 0
	case TransportDirect:
		return c.Has(RoleProjector) || !c.Has(RoleRelay)
	}
	return true
}

// Carrying lists the transports that Carries says yes to.
func (c *Config) Carrying() []string {
	return slices.DeleteFunc(slices.Clone(transports), func(t string) bool { return !c.Carries(t) })
}
