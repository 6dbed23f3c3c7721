package protocol

// Status is the response of GET /v1/admin/status. Which figures a node reports depends on
// its roles; unknown figures are absent.
type Status struct {
	Roles         []string `json:"roles"`
	UptimeSeconds int64    `json:"uptime_seconds"`

	// WindowMS is the time over which this node's rate and latency of increments were
	// measured. All three are absent in the first response after a pause.
	WindowMS            int64    `json:"window_ms,omitempty"`
	IncrementsPerSecond *float64 `json:"increments_per_second,omitempty"`
	LatencyP95MS        *float64 `json:"latency_p95_ms,omitempty"` // absent if there were no increments

	// OutboxDepth is the number of unpublished changes in the whole installation, counted
	// up to a million.
	OutboxDepth       *int64 `json:"outbox_depth,omitempty"`
	OutboxOldestAgeMS *int64 `json:"outbox_oldest_age_ms,omitempty"`

	ConsumerLag map[string]int64 `json:"consumer_lag,omitempty"` // records to consume, by topic
	// DamagedLogs holds the topics whose log this node found cut or replaced since its
	// start, with the number of lost records, as far as known.
	DamagedLogs map[string]int64 `json:"damaged_logs,omitempty"`
	Parity      *Parity          `json:"parity,omitempty"`
	// Connections counts the open realtime connections to the node, by transport.
	Connections map[string]int64 `json:"gateway_connections,omitempty"`
	Board       *RankingStatus   `json:"board,omitempty"`
	Problems    []string         `json:"problems,omitempty"` // backends that did not answer
}

// Parity is the result of comparing users' scores in Redis with PostgreSQL since the node
// started.
type Parity struct {
	Checked  int64   `json:"checked"` // number of compared users
	Drifted  int64   `json:"drifted"`
	Repaired int64   `json:"repaired"`
	Percent  float64 `json:"percent"` // share of the compared users that agreed
}
