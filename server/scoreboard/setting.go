package scoreboard

import "time"

// StoredSetting is a setting as an operator has turned it.
type StoredSetting struct {
	Name      string
	Value     *string // nil: as deployed
	Version   int64
	ChangedAt time.Time
	ChangedBy UserID
}

// SettingChange is what an operator wants of a setting.
type SettingChange struct {
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
