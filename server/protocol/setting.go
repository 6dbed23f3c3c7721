package protocol

import "time"

// Setting is one setting with its effective value on the answering node; secrets are
// masked. Live settings can be changed while the daemon runs.
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

// Settings answers GET /v1/admin/settings, and PUT with the changed settings.
type Settings struct {
	Settings []Setting `json:"settings"`
}

// SettingRequest is the body of PUT /v1/admin/settings/{name}: a value, or a reset to
// the deployed value.
type SettingRequest struct {
	Value  *string `json:"value,omitempty"`
	Reset  bool    `json:"reset,omitempty"`
	Reason string  `json:"reason,omitempty"`
}

// MaxSettings bounds the settings of one request.
const MaxSettings = 50

// SettingsRequest is the body of PUT /v1/admin/settings: changes that are applied
// together, all or none.
type SettingsRequest struct {
	Settings []SettingChange `json:"settings"`
	Reason   string          `json:"reason,omitempty"`
}

// SettingChange is a value for a setting, or a reset to its deployed value.
type SettingChange struct {
	Name  string  `json:"name"`
	Value *string `json:"value,omitempty"`
	Reset bool    `json:"reset,omitempty"`
}
