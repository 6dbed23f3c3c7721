package leaderboard

import (
	"context"
	"slices"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// FriendLists reads the friends of users.
type FriendLists interface {
	// Mutual returns which of others are friends of user.
	Mutual(
		ctx context.Context, user scoreboard.UserID, others []scoreboard.UserID,
	) ([]scoreboard.UserID, error)
	// List returns up to limit users that are to user what state says, after a name.
	List(
		ctx context.Context, user scoreboard.UserID, state scoreboard.FriendState, after scoreboard.UserID, limit int,
	) ([]scoreboard.Friend, error)
}

// Friends reads standings of users among their friends.
type Friends struct {
	leaderboard *Leaderboard
	lists       FriendLists
}

// NewFriends returns a Friends that reads standings as l does.
func NewFriends(l *Leaderboard, lists FriendLists) *Friends { return &Friends{l, lists} }

// FriendsOn returns the standings of a user and the user's friends on a board. A friend who
// hides from everyone is in Missing, as one without a standing.
func (f *Friends) FriendsOn(
	ctx context.Context, board *scoreboard.Board, user scoreboard.UserID,
) (*scoreboard.List, error) {
	friends, err := f.lists.List(ctx, user, scoreboard.FriendMutual, "", scoreboard.MaxFriends)
	if err != nil {
		return nil, err
	}
	users := []scoreboard.UserID{user}
	var hidden []scoreboard.UserID
	for _, friend := range friends {
		if f.leaderboard.Display.Visibility(friend.User) == scoreboard.VisibilityPseudonym {
			hidden = append(hidden, friend.User) // a pseudonym on so short a list would tell who it is
			continue
		}
		users = append(users, friend.User)
	}
	list, err := f.leaderboard.List(ctx, board, users)
	if err != nil || hidden == nil {
		return list, err
	}
	list.Missing = slices.Sorted(slices.Values(append(slices.Clone(list.Missing), hidden...)))
	return list, nil
}

// Mutual returns which of others are friends of user.
func (f *Friends) Mutual(
	ctx context.Context, user scoreboard.UserID, others []scoreboard.UserID,
) ([]scoreboard.UserID, error) {
	return f.lists.Mutual(ctx, user, others)
}

// ReadFriends is FriendsOn for a board or the current instance of a family.
func (f *Friends) ReadFriends(
	ctx context.Context, id scoreboard.BoardID, user scoreboard.UserID,
) (*scoreboard.List, error) {
	board, err := f.leaderboard.Catalog.Board(ctx, id)
	if err != nil {
		return nil, err
	}
	return f.FriendsOn(ctx, board, user)
}
