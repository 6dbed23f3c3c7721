package api

import (
	"context"
	"net/http"
	"sync"

	"github.com/gin-gonic/gin"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/http/auth"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// ExternalIDs stores the identity provider's id of a user, once.
type ExternalIDs interface {
	Add(ctx context.Context, user scoreboard.UserID, external string) error
}

// maxStoredIDs bounds the users that a node remembers to have stored.
const maxStoredIDs = 10_000

// storedIDs are the users whose external id this node has stored.
type storedIDs struct {
	mu    sync.Mutex
	users map[scoreboard.UserID]struct{}
}

// add reports whether a user was not there.
func (s *storedIDs) add(user scoreboard.UserID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, stored := s.users[user]; stored {
		return false
	}
	if s.users == nil || len(s.users) >= maxStoredIDs {
		s.users = make(map[scoreboard.UserID]struct{}) // rare, and simpler than an eviction order
	}
	s.users[user] = struct{}{}
	return true
}

func (s *storedIDs) remove(user scoreboard.UserID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.users, user)
}

// externalIDs stores the external ids of callers.
type externalIDs struct {
	store    ExternalIDs // nil: they are not stored
	stored   storedIDs
	failures *failures
}

// storeExternalID stores the external id of a caller who has changed something, so that
// operators recognise the user. If that is not possible, the next change tries again.
func (h *externalIDs) storeExternalID(c *gin.Context, caller *auth.Claims) {
	if caller.External == "" || h.store == nil || c.Request.Method == http.MethodGet ||
		c.Request.Method == http.MethodHead || !h.stored.add(caller.User) {
		return
	}
	if err := h.store.Add(c.Request.Context(), caller.User, caller.External); err != nil {
		h.stored.remove(caller.User)
		h.failures.logThrottled(c, wire.CodeOf(err), err)
	}
}
