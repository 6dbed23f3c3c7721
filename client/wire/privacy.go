package wire

import "time"

// PrivacyRequest is the body of PUT /v1/users/{user_id}/privacy.
type PrivacyRequest struct {
	Visibility string `json:"visibility"` // public, friends, pseudonym or private
}

// Privacy is the response of GET and PUT /v1/users/{user_id}/privacy: who sees the user's id
// and profile on boards.
type Privacy struct {
	UserID     string     `json:"user_id"`
	Visibility string     `json:"visibility"`        // public, friends, pseudonym or private
	ChangedAt  *time.Time `json:"changed_at"`        // time of the last change; null if there was none
	Pending    bool       `json:"pending,omitempty"` // true if some boards do not reflect this change yet
}
