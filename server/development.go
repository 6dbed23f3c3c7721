package server

import (
	"context"
	"time"

	"github.com/scoreboard/scoreboard/server/api"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// NewKey makes the id and secret of a signing key.
func NewKey() (id, secret string) { return api.NewKey() }

// EnsureKey makes a signing key known under an id and secret that the caller
// already has. It is for the development stack, which keeps both in a file.
func (s *Server) EnsureKey(ctx context.Context, id, name, secret string) error {
	_, err := s.store.CreateKey(ctx, id, name, s.keyring.Seal(id, secret), &scoreboard.KeyScope{}, 0, nil)
	if scoreboard.CodeOf(err) == scoreboard.CodeConflict {
		return nil
	}
	return err
}

// MintToken makes a bearer token: the development issuer.
func (s *Server) MintToken(user scoreboard.UserID, scope string, life time.Duration) (string, error) {
	token, _, err := s.tokens.Mint(user, scope, life)
	return token, err
}
