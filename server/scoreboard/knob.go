package scoreboard

import "time"

// StoredKnob is a knob as an operator has turned it.
type StoredKnob struct {
	Name      string
	Value     *string // nil: as deployed
	Version   int64
	ChangedAt time.Time
	ChangedBy UserID
}

// KnobTurn is what an operator wants of a knob.
type KnobTurn struct {
	Name  string
	Value *string // nil: as deployed
	Why   *AuditEntry
}

// Carrier is a process that relays or projects, and with which transports it
// can.
type Carrier struct {
	Owner      string
	Transports []string
}
