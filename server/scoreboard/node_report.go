package scoreboard

// NodeReport is what a node that is ready says to the others.
type NodeReport struct {
	Node    string   `json:"node"`    // the name of its process, which no other process ever has
	Roles   []string `json:"roles"`   // those that serve requests
	Reaches []string `json:"reaches"` // the backends that answer to it
	// Sequence increases with each report. The backends were asked after the report before
	// was stored.
	Sequence int64 `json:"sequence"`
}
