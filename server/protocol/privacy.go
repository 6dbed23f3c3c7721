package protocol

import "time"

// PrivacyRequest is the body of PUT /v1/users/{user_id}/privacy.
type PrivacyRequest struct {
	Visibility string `json:"visibility"` // public, friends or pseudonym
}

// Privacy is the response of GET and PUT /v1/users/{user_id}/privacy: who sees the user's id
// and profile on boards.
type Privacy struct {
	UserID     string     `json:"user_id"`
	Visibility string     `json:"visibility"` // public, friends or pseudonym
	ChangedAt  *time.Time `json:"changed_at"` // null if it was never changed
}
