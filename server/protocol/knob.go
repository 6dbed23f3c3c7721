package protocol

import "time"

// Knob is one knob as it is in force on the node that answers; secrets are
// masked. Live ones can be turned while the daemon runs.
type Knob struct {
	Name      string     `json:"name"`
	Value     string     `json:"value"`
	Source    string     `json:"source"` // flag, environment, file, default or store
	Meaning   string     `json:"meaning"`
	Live      bool       `json:"live"`
	Version   int64      `json:"version,omitempty"` // of the last change by an operator
	ChangedAt *time.Time `json:"changed_at,omitempty"`
	ChangedBy string     `json:"changed_by,omitempty"`
}

// Knobs answers GET /v1/admin/knobs, and PUT with those that were turned.
type Knobs struct {
	Knobs []Knob `json:"knobs"`
}

// KnobRequest is the body of PUT /v1/admin/knobs/{name}: a value, or back to
// what was deployed.
type KnobRequest struct {
	Value  *string `json:"value,omitempty"`
	Reset  bool    `json:"reset,omitempty"`
	Reason string  `json:"reason,omitempty"`
}

// MaxKnobs is how many are turned at once.
const MaxKnobs = 50

// KnobsRequest is the body of PUT /v1/admin/knobs: knobs that are turned
// together, all or none.
type KnobsRequest struct {
	Knobs  []KnobTurn `json:"knobs"`
	Reason string     `json:"reason,omitempty"`
}

// KnobTurn is a value for a knob, or back to what was deployed.
type KnobTurn struct {
	Name  string  `json:"name"`
	Value *string `json:"value,omitempty"`
	Reset bool    `json:"reset,omitempty"`
}
