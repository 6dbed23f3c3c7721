package wire

import "time"

// Status is the response of GET /v1/admin/status. Which figures a node reports depends on
// its roles; unknown figures are absent.
type Status struct {
	// Roles of the node: api, read, intake, relay, projector, gateway, maintenance.
	Roles []string `json:"roles"`
	// Name of the node: its host, its process and a random part.
	Node          string `json:"node"`
	UptimeSeconds int64  `json:"uptime_seconds"` // time since the node started, in seconds

	// WindowMS is the time in milliseconds over which this node's rate and latency of increments were
	// measured. All three are absent in the first response after a pause.
	WindowMS int64 `json:"window_ms,omitempty"`
	// Increments per second that the node recorded.
	IncrementsPerSecond *float64 `json:"increments_per_second,omitempty"`
	// 95th percentile, in milliseconds; absent without increments.
	LatencyP95MS *float64 `json:"latency_p95_ms,omitempty"`

	// OutboxDepth is the number of unpublished changes in the whole installation, counted
	// up to a million.
	OutboxDepth *int64 `json:"outbox_depth,omitempty"`
	// Age of the oldest unpublished change, in milliseconds; 0: none waits.
	OutboxOldestAgeMS *int64 `json:"outbox_oldest_age_ms,omitempty"`

	ConsumerLag map[string]int64 `json:"consumer_lag,omitempty"` // records to consume, by topic
	// DamagedLogs holds the topics whose log this node found cut or replaced since its
	// start, with the number of lost records, as far as known.
	DamagedLogs map[string]int64 `json:"damaged_logs,omitempty"`
	// Result of the comparison of scores in Redis with PostgreSQL, which always runs.
	Parity *Parity `json:"parity,omitempty"`
	// Connections counts the open realtime connections to the node, by transport.
	Connections map[string]int64 `json:"gateway_connections,omitempty"`
	Board       *RankingStatus   `json:"board,omitempty"`    // state of the ranking of the board that was asked for
	Problems    []string         `json:"problems,omitempty"` // backends that did not answer
	// History holds the node's last hour, oldest first; present with the parameter history.
	History []StatusSample `json:"history,omitempty"`
}

// StatusSample is what a node measured in ten seconds. Unknown figures are absent.
type StatusSample struct {
	At time.Time `json:"at"` // end of the ten seconds
	// Increments per second that the node recorded.
	IncrementsPerSecond *float64 `json:"increments_per_second,omitempty"`
	// 95th percentile, in milliseconds; absent without increments.
	LatencyP95MS *float64 `json:"latency_p95_ms,omitempty"`
	OutboxDepth  *int64   `json:"outbox_depth,omitempty"` // unpublished changes in the whole installation
	// Records to consume, of all topics; absent if the node consumes none.
	RecordsBehind *int64 `json:"records_behind,omitempty"`
}

// Parity is the result of comparing users' scores in Redis with PostgreSQL since the node
// started.
type Parity struct {
	Checked  int64   `json:"checked"`  // number of compared users
	Drifted  int64   `json:"drifted"`  // number of users whose scores differed
	Repaired int64   `json:"repaired"` // number of users whose ranking was repaired
	Percent  float64 `json:"percent"`  // share of the compared users that agreed, in percent
}
