package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/gin-gonic/gin"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/share"
	"github.com/scoreboard/scoreboard/server/http/auth"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// FriendReads ranks users among their friends.
type FriendReads interface {
	// FriendsOn returns the standings of a user and the user's friends.
	FriendsOn(ctx context.Context, board *scoreboard.Board, user scoreboard.UserID) (*scoreboard.List, error)
	// Mutual returns which of others are friends of user.
	Mutual(
		ctx context.Context, user scoreboard.UserID, others []scoreboard.UserID,
	) ([]scoreboard.UserID, error)
}

// Friends stores which users are friends of each other.
type Friends interface {
	// Ask stores a request of user to other, or accepts that of other.
	Ask(ctx context.Context, user, other scoreboard.UserID) (scoreboard.Friend, error)
	// Asked returns which of others user has asked to be friends, or whose requests user has accepted.
	Asked(ctx context.Context, user scoreboard.UserID, others []scoreboard.UserID) ([]scoreboard.UserID, error)
	// Remove ends a friendship, or takes back or declines a request.
	Remove(ctx context.Context, user, other scoreboard.UserID) error
	// List returns up to limit users, by name, after a name.
	List(
		ctx context.Context, user scoreboard.UserID, state scoreboard.FriendState, after scoreboard.UserID, limit int,
	) ([]scoreboard.Friend, error)
	// Import makes the users of each pair friends, and returns how many pairs were not. why is
	// the audit entry of an operator's change, else nil.
	Import(ctx context.Context, pairs [][2]scoreboard.UserID, why *scoreboard.AuditEntry) (int, error)
}

// The bounds of the friends API.
const (
	defaultFriends = 100
	maxPairs       = 500
	maxPairsBody   = 80 << 10 // room for that many pairs of the longest ids
)

// friends shows and changes the friends of users.
type friends struct {
	store Friends
	asked *hiding[[]scoreboard.UserID]
}

func newFriends(store Friends, turns *share.Pool) *friends {
	return &friends{store, newHiding(turns, store.Asked)}
}

// hides reports whether a request ends a friendship, or takes back a request that the other could
// accept, so that the other does not see what friends see.
func (h *friends) hides(c *gin.Context, caller *auth.Claims) bool {
	other, err := otherUser(c, caller, caller.UserID)
	if err != nil {
		return false
	}
	return h.asked.hides(c.Request.Context(), caller.User, other, func(asked []scoreboard.UserID) bool {
		return slices.Contains(asked, other)
	})
}

// askFriend is PUT /v1/users/me/friends/{user_id}.
func (h *friends) askFriend(c *gin.Context, caller *auth.Claims) error {
	other, err := otherUser(c, caller, caller.WrittenUser)
	if err != nil {
		return err
	}
	if err := decodeNothing(c); err != nil {
		return err
	}
	friend, err := h.store.Ask(c.Request.Context(), caller.User, other)
	if err != nil {
		return err
	}
	respond(c, http.StatusOK, friendJSON(&friend))
	return nil
}

// removeFriend is DELETE /v1/users/me/friends/{user_id}.
func (h *friends) removeFriend(c *gin.Context, caller *auth.Claims) error {
	other, err := otherUser(c, caller, caller.UserID)
	if err != nil {
		return err
	}
	if err := h.store.Remove(c.Request.Context(), caller.User, other); err != nil {
		return err
	}
	respond(c, http.StatusOK, friendJSON(&scoreboard.Friend{User: other, State: scoreboard.FriendNone}))
	return nil
}

// otherUser is the user of the path, who is not the caller.
func otherUser(
	c *gin.Context, caller *auth.Claims, parse func(string) (scoreboard.UserID, error),
) (scoreboard.UserID, error) {
	other, err := parse(c.Param("user_id"))
	if err == nil && other == caller.User {
		err = scoreboard.Invalid("user_id", "user_id must be another user than the token's")
	}
	return other, err
}

func friendJSON(f *scoreboard.Friend) wire.Friend {
	return wire.Friend{UserID: string(f.User), State: string(f.State), Since: timePtr(f.Since)}
}

// listFriends is GET /v1/users/me/friends.
func (h *friends) listFriends(c *gin.Context, caller *auth.Claims) error {
	state, err := scoreboard.ParseFriendState(c.Query("state"))
	if err != nil {
		return err
	}
	limit, err := queryInt(c, "limit", defaultFriends, 1, scoreboard.MaxFriends)
	if err != nil {
		return err
	}
	var after scoreboard.UserID
	if text := c.Query("after"); text != "" {
		if after, err = scoreboard.ParseUserID(text); err != nil {
			return scoreboard.Invalid("after", "after must be the next_after of a page")
		}
	}
	list, err := h.store.List(c.Request.Context(), caller.User, state, after, limit+1)
	if err != nil {
		return err
	}
	out := wire.Friends{Friends: []wire.Friend{}}
	if len(list) > limit {
		list = list[:limit]
		out.NextAfter = string(list[limit-1].User)
	}
	for i := range list {
		out.Friends = append(out.Friends, friendJSON(&list[i]))
	}
	respond(c, http.StatusOK, out)
	return nil
}

// importFriends is POST /v1/friends, for servers that know the friends of their users.
func (h *friends) importFriends(c *gin.Context, caller *auth.Claims) error {
	var r wire.FriendPairs
	body, err := readBody(c, maxPairsBody)
	if err != nil {
		return err
	}
	if err := decodeObject(c, body, &r); err != nil {
		return err
	}
	if len(r.Pairs) == 0 || len(r.Pairs) > maxPairs {
		return scoreboard.Invalid("pairs", "pairs must contain 1 to %d pairs", maxPairs)
	}
	pairs := make([][2]scoreboard.UserID, len(r.Pairs))
	for i, pair := range r.Pairs {
		var err *scoreboard.Error
		if pairs[i], err = parsePair(pair); err != nil {
			return scoreboard.Invalid(fmt.Sprintf("pairs[%d]", i), "pairs[%d]: %s", i, err.Message)
		}
	}
	// Without the users: they could not be erased from the audit trail later.
	why := operatorsEntry(c, caller, "friends", map[string]any{"pairs": len(pairs)})
	added, err := h.store.Import(c.Request.Context(), pairs, why)
	if err != nil {
		return err
	}
	respond(c, http.StatusOK, wire.FriendsImported{Pairs: len(pairs), Added: added})
	return nil
}

// parsePair returns the two users of a pair, or what is wrong with it.
func parsePair(p wire.FriendPair) (pair [2]scoreboard.UserID, invalid *scoreboard.Error) {
	for i, text := range []string{p.UserID, p.FriendID} {
		user, err := scoreboard.ParseClientUserID(text)
		if errors.As(err, &invalid) {
			return pair, invalid
		}
		pair[i] = user
	}
	if pair[0] == pair[1] {
		return pair, &scoreboard.Error{Message: "user_id and friend_id must be different users"}
	}
	return pair, nil
}

// friendsBoards ranks users among their friends.
type friendsBoards struct {
	reads    FriendReads
	access   *boardAccess
	metadata *metadata
	now      clock
}

// friendsBoard is GET /v1/leaderboard/friends: the standings of the caller and the
// caller's friends.
func (h *friendsBoards) friendsBoard(c *gin.Context, caller *auth.Claims) error {
	board, err := h.access.readableBoard(c, caller, c.Query("board"))
	if err != nil {
		return err
	}
	l, err := h.reads.FriendsOn(c.Request.Context(), board, caller.User)
	if err != nil {
		return err
	}
	respondList(c, l, board, h.metadata, h.now)
	return nil
}
