package scoreboard

import "time"

// MaxFriends bounds the friends of a user together with the requests that the user has sent.
const MaxFriends = 500

// FriendState is what one user is to another, as the first one sees it.
type FriendState string

// The states of a friendship.
const (
	FriendMutual    FriendState = "mutual"    // both have asked or accepted
	FriendRequested FriendState = "requested" // the user has asked
	FriendReceived  FriendState = "received"  // the other one has asked
	FriendNone      FriendState = "none"
)

// ParseFriendState checks s and returns it as a FriendState, mutual if it is empty, or an
// invalid_request.
func ParseFriendState(s string) (FriendState, error) {
	switch state := FriendState(s); state {
	case "":
		return FriendMutual, nil
	case FriendMutual, FriendRequested, FriendReceived:
		return state, nil
	}
	return "", Invalid("state", "state must be mutual, requested or received")
}

// Friend is another user, as a user's friend or as one who may become it.
type Friend struct {
	User  UserID
	State FriendState
	Since time.Time // of the state; zero for none
}
