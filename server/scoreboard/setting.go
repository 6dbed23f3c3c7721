package scoreboard

import "time"

// StoredSetting is a setting changed at run time.
type StoredSetting struct {
	Name      string
	Value     *string // nil: the deployed value
	Version   int64
	ChangedAt time.Time
	ChangedBy UserID
}

// SettingChange is a requested change of a setting.
type SettingChange struct {
	Name  string
	Value *string // nil: the deployed value
	Why   *AuditEntry
}

// TransportPeer is a process that relays or projects, and with which transports it
// can.
type TransportPeer struct {
	Owner      string
	Transports []string
}
