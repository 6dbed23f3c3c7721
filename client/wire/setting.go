package wire

import "time"

// Setting is a setting with its effective value on the node that answers; secrets are
// masked. A setting that is Live can be changed while the daemon runs.
type Setting struct {
	Name      string     `json:"name"`                 // name of the setting, such as reads.top_n
	Value     string     `json:"value"`                // effective value; secrets are masked
	Source    string     `json:"source"`               // flag, environment, file, default or store
	Meaning   string     `json:"meaning"`              // what the setting does, with its unit
	Live      bool       `json:"live"`                 // true if it can be changed while the daemon runs
	Version   int64      `json:"version,omitempty"`    // version of the last change by an operator
	ChangedAt *time.Time `json:"changed_at,omitempty"` // time of the last change by an operator
	ChangedBy string     `json:"changed_by,omitempty"` // operator who made it
}

// Settings is the response of GET /v1/admin/settings, and of PUT with the changed
// settings.
type Settings struct {
	Settings []Setting `json:"settings"` // the settings, by name
}

// SettingRequest is the body of PUT /v1/admin/settings/{name}: a value, or a reset to
// the deployed value.
type SettingRequest struct {
	Value  *string `json:"value,omitempty"`  // the new value, as text
	Reset  bool    `json:"reset,omitempty"`  // true, instead of a value: back to the deployed value
	Reason string  `json:"reason,omitempty"` // the operator's reason, for the audit trail, up to 500 characters
	// Force changes it even if the token of the request is not valid afterwards.
	Force bool `json:"force,omitempty"`
}

// MaxSettings bounds the settings of one request.
const MaxSettings = 50

// SettingsRequest is the body of PUT /v1/admin/settings: changes that are applied
// together or not at all.
type SettingsRequest struct {
	Settings []SettingChange `json:"settings"` // 1 to 50 changes
	// The operator's reason, for the audit trail, up to 500 characters.
	Reason string `json:"reason,omitempty"`
	// Force changes them even if the token of the request is not valid afterwards.
	Force bool `json:"force,omitempty"`
}

// SettingChange is a value for a setting, or a reset to its deployed value.
type SettingChange struct {
	Name  string  `json:"name"`            // name of the setting, such as reads.top_n
	Value *string `json:"value,omitempty"` // the new value, as text
	Reset bool    `json:"reset,omitempty"` // true, instead of a value: back to the deployed value
}
