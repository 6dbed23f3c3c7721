package protocol

import "time"

// Setting is one setting as it is in force on the node that answers; secrets are
// masked. Live ones can be turned while the daemon runs.
type Setting struct {
	Name      string     `json:"name"`
	Value     string     `json:"value"`
	Source    string     `json:"source"` // flag, environment, file, default or store
	Meaning   string     `json:"meaning"`
	Live      bool       `json:"live"`
	Version   int64      `json:"version,omitempty"` // of the last change by an operator
	ChangedAt *time.Time `json:"changed_at,omitempty"`
	ChangedBy string     `json:"changed_by,omitempty"`
}

// Settings answers GET /v1/admin/settings, and PUT with those that were turned.
type Settings struct {
	Settings []Setting `json:"settings"`
}

// SettingRequest is the body of PUT /v1/admin/settings/{name}: a value, or back to
// what was deployed.
type SettingRequest struct {
	Value  *string `json:"value,omitempty"`
	Reset  bool    `json:"reset,omitempty"`
	Reason string  `json:"reason,omitempty"`
}

// MaxSettings is how many are turned at once.
const MaxSettings = 50

// SettingsRequest is the body of PUT /v1/admin/settings: settings that are turned
// together, all or none.
type SettingsRequest struct {
	Settings []SettingChange `json:"settings"`
	Reason   string          `json:"reason,omitempty"`
}

// SettingChange is a value for a setting, or back to what was deployed.
type SettingChange struct {
	Name  string  `json:"name"`
	Value *string `json:"value,omitempty"`
	Reset bool    `json:"reset,omitempty"`
}
