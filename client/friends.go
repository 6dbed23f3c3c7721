package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
)

// Friends, as the server sends them.
type (
	// Friend is what another user is to the token's user.
	Friend = wire.Friend
	// Friends is a page of them.
	Friends = wire.Friends
	// FriendPair is two users.
	FriendPair = wire.FriendPair
	// FriendsImported says how many pairs were not friends before.
	FriendsImported = wire.FriendsImported
)

const pathFriends = "/v1/users/me/friends"

// AskFriend asks a user to be a friend of the token's user, or accepts that user's request.
func (c *Client) AskFriend(ctx context.Context, user string) (Friend, error) {
	var f Friend
	err := c.do(ctx, call{
		op: "ask " + user + " to be a friend", method: http.MethodPut, path: pathFriends + "/" + url.PathEscape(user),
	}, &f)
	return f, err
}

// RemoveFriend ends a friendship of the token's user, takes back a request or declines one.
func (c *Client) RemoveFriend(ctx context.Context, user string) (Friend, error) {
	var f Friend
	err := c.do(ctx, call{
		op: "remove the friend " + user, method: http.MethodDelete, path: pathFriends + "/" + url.PathEscape(user),
	}, &f)
	return f, err
}

// FriendsQuery are the parameters of a list of friends.
type FriendsQuery struct {
	State string // mutual, requested or received; "" is mutual
	After string // NextAfter of the previous page
	Limit int    // 1 to 500; 0 is 100
}

// Friends lists the friends of the token's user, or requests, by user id.
func (c *Client) Friends(ctx context.Context, q FriendsQuery) (Friends, error) {
	query := url.Values{}
	for name, value := range map[string]string{"state": q.State, "after": q.After} {
		if value != "" {
			query.Set(name, value)
		}
	}
	if q.Limit != 0 {
		query.Set("limit", strconv.Itoa(q.Limit))
	}
	var page Friends
	err := c.do(ctx, call{op: "list friends", method: http.MethodGet, path: pathFriends, query: query}, &page)
	return page, err
}

// FriendsTop reads the standings of the token's user and the user's friends on a board,
// global if it is empty.
func (c *Client) FriendsTop(ctx context.Context, board string) (List, error) {
	query := url.Values{}
	if board != "" {
		query.Set("board", board)
	}
	var list List
	err := c.do(ctx, call{
		op: "read the standings of friends", method: http.MethodGet, path: "/v1/leaderboard/friends", query: query,
	}, &list)
	return list, err
}

// ImportFriends makes the users of up to 500 pairs friends, all or none. It needs the scope
// score:update.
func (c *Client) ImportFriends(ctx context.Context, pairs []FriendPair) (FriendsImported, error) {
	var done FriendsImported
	err := c.do(ctx, call{
		op: "import friends", method: http.MethodPost, path: "/v1/friends",
		body: func(time.Time) any { return wire.FriendPairs{Pairs: pairs} },
	}, &done)
	return done, err
}
