package protocol

// Status answers GET /v1/admin/status. The figures of a node depend on its roles;
// unknown figures are absent.
type Status struct {
	Roles         []string `json:"roles"`
	UptimeSeconds int64    `json:"uptime_seconds"`

	// Of this node, over the last WindowMS; absent in the first request after a
	// pause.
	WindowMS            int64    `json:"window_ms,omitempty"`
	IncrementsPerSecond *float64 `json:"increments_per_second,omitempty"`
	LatencyP95MS        *float64 `json:"latency_p95_ms,omitempty"` // of increments; absent if there were none

	// Of the whole installation.
	OutboxDepth       *int64 `json:"outbox_depth,omitempty"` // counted up to a million
	OutboxOldestAgeMS *int64 `json:"outbox_oldest_age_ms,omitempty"`

	ConsumerLag map[string]int64 `json:"consumer_lag,omitempty"` // records, by topic
	// DamagedLogs are the topics whose log this node found cut or replaced since its
	// start, with the records that were lost, as far as known.
	DamagedLogs map[string]int64 `json:"damaged_logs,omitempty"`
	Parity      *Parity          `json:"parity,omitempty"`
	Connections map[string]int64 `json:"gateway_connections,omitempty"` // of this node, by transport
	Board       *Condition       `json:"board,omitempty"`
	Problems    []string         `json:"problems,omitempty"` // backends that did not answer
}

// Parity is the result of comparing Redis with PostgreSQL since the node started.
type Parity struct {
	Checked  int64   `json:"checked"` // users
	Drifted  int64   `json:"drifted"`
	Repaired int64   `json:"repaired"`
	Percent  float64 `json:"percent"` // of the checked users that agreed
}
