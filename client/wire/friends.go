package wire

import "time"

// Friend is the response of PUT and DELETE /v1/users/me/friends/{user_id}: what another
// user is to the token's user.
type Friend struct {
	UserID string `json:"user_id"`
	// mutual: both are friends. requested: the token's user has asked. received: the other
	// one has asked. none: neither has.
	State string     `json:"state"`
	Since *time.Time `json:"since,omitempty"` // start of the state; absent for none
}

// Friends is the response of GET /v1/users/me/friends.
type Friends struct {
	Friends   []Friend `json:"friends"`              // ordered by user id
	NextAfter string   `json:"next_after,omitempty"` // value of after for the next page; absent on the last page
}

// FriendPairs is the body of POST /v1/friends.
type FriendPairs struct {
	Pairs []FriendPair `json:"pairs"` // 1 to 500 pairs
}

// FriendPair is a pair of users to make friends.
type FriendPair struct {
	UserID   string `json:"user_id"`   // user id of one
	FriendID string `json:"friend_id"` // user id of the other
}

// FriendsImported is the response of POST /v1/friends.
type FriendsImported struct {
	Pairs int `json:"pairs"` // number of pairs in the request
	Added int `json:"added"` // pairs that were not friends before
}
