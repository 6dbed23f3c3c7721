package config

import "slices"

// Transports of events.
const (
	TransportKafka   = "kafka"
	TransportStreams = "streams"
	TransportDirect  = "direct"
)

var transports = []string{TransportKafka, TransportStreams, TransportDirect}

// Supports reports whether this process can run its end of a transport. Kafka
// requires brokers; direct requires the projector in the relay's process, and has no
// records that a mirror could read.
func (c *Config) Supports(transport string) bool {
	switch transport {
	case TransportKafka:
		return len(c.Kafka.Brokers) > 0
	case TransportDirect:
		return (c.Has(RoleProjector) || !c.Has(RoleRelay)) && !c.Has(RoleMirror)
	}
	return true
}

// SupportedTransports lists the transports that Supports accepts.
func (c *Config) SupportedTransports() []string {
	return slices.DeleteFunc(slices.Clone(transports), func(t string) bool { return !c.Supports(t) })
}
