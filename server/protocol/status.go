package protocol

// Status answers GET /v1/admin/status: how the server that was asked feels now.
// What it cannot know is absent: the figures of a node are those of the roles
// that it has.
type Status struct {
	Roles         []string `json:"roles"`
	UptimeSeconds int64    `json:"uptime_seconds"`

	// Of this node, over WindowMS before now; absent when asked for the first
	// time in a while.
	WindowMS            int64    `json:"window_ms,omitempty"`
	IncrementsPerSecond *float64 `json:"increments_per_second,omitempty"`
	LatencyP95MS        *float64 `json:"latency_p95_ms,omitempty"` // of increments; absent without any

	// Of the whole house.
	OutboxDepth       *int64 `json:"outbox_depth,omitempty"` // counted up to a million
	OutboxOldestAgeMS *int64 `json:"outbox_oldest_age_ms,omitempty"`

	ConsumerLag map[string]int64 `json:"consumer_lag,omitempty"` // records, by topic
	Parity      *Parity          `json:"parity,omitempty"`
	Connections map[string]int64 `json:"gateway_connections,omitempty"` // of this node, by transport
	Board       *Condition       `json:"board,omitempty"`
	Problems    []string         `json:"problems,omitempty"` // what could not be asked
}

// Parity is what the comparison of Redis with PostgreSQL has found since the
// node's start.
type Parity struct {
	Checked  int64   `json:"checked"` // users
	Drifted  int64   `json:"drifted"`
	Repaired int64   `json:"repaired"`
	Percent  float64 `json:"percent"` // of the checked that agreed
}
