package wire

// FoundUser is a user whose display name starts with the searched text.
type FoundUser struct {
	UserID      string `json:"user_id"`
	DisplayName string `json:"display_name"`
	Status      string `json:"status"` // active, frozen or banned
}

// FoundUsers is the response of GET /v1/admin/users, by name. NextAfter is the value of
// after for the next page.
type FoundUsers struct {
	Users []FoundUser `json:"users"` // the users, by display name
	// Id of the last user of the page; absent on the last page.
	NextAfter string `json:"next_after,omitempty"`
}
