package auth

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/redis/go-redis/v9"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// StreamTokenTTL is how long a stream token can be redeemed.
const StreamTokenTTL = time.Minute

// The claims of every stream token, and its typ. No bearer token has this typ, or is
// signed with this key.
const (
	streamIssuer   = "scoreboard"
	streamAudience = "scoreboard-stream"
	streamType     = "stream+jwt"
)

// maxStreamToken exceeds the longest stream token.
const maxStreamToken = 1024

// StreamTokens issues and redeems tokens that open WebSockets of one client: join tickets in the
// shape of a JWT with the scope ws_conn. Their keys are derived from the master keys, so it
// does not depend on the issuer of bearer tokens. As of other tickets, Redis holds a hash
// and whom it is for, so none is redeemed after Redis has lost it.
type StreamTokens struct {
	keys    [][]byte // the first signs
	tickets *Tickets
	parser  *jwt.Parser
}

// NewStreamTokens derives the keys from master keys of 32 bytes in hex, and uses rdb,
// which the caller closes.
func NewStreamTokens(
	masterKeys []string, rdb redis.UniversalClient, now func() time.Time,
) (*StreamTokens, error) {
	keys, err := deriveKeys(masterKeys, "stream tokens")
	if err != nil {
		return nil, err
	}
	tickets := NewTickets(rdb, now)
	tickets.prefix, tickets.ttl = "sb:stream-token:", StreamTokenTTL
	return &StreamTokens{keys, tickets, jwt.NewParser(
		jwt.WithValidMethods([]string{jwt.SigningMethodHS256.Alg()}), jwt.WithIssuer(streamIssuer),
		jwt.WithAudience(streamAudience), jwt.WithExpirationRequired(), jwt.WithNotBeforeRequired(),
		jwt.WithIssuedAt(), jwt.WithLeeway(leeway), jwt.WithTimeFunc(now), jwt.WithStrictDecoding(),
	)}, nil
}

// Issue returns a token for the caller to watch a board. It expires after
// StreamTokenTTL, or with the caller's bearer token if that is sooner.
func (s *StreamTokens) Issue(
	ctx context.Context, caller *Claims, board scoreboard.BoardID,
) (token string, expires time.Time, err error) {
	now := s.tickets.now()
	expires = s.tickets.expiry(now, caller).Truncate(time.Second)
	t := jwt.NewWithClaims(jwt.SigningMethodHS256, jwtClaims{
		RegisteredClaims: jwt.RegisteredClaims{
			ID: rand.Text(), Subject: string(caller.User), Issuer: streamIssuer,
			Audience: jwt.ClaimStrings{streamAudience}, IssuedAt: jwt.NewNumericDate(now),
			NotBefore: jwt.NewNumericDate(now), ExpiresAt: jwt.NewNumericDate(expires),
		}, Scope: ScopeJoin,
	})
	t.Header["typ"] = streamType
	if token, err = t.SignedString(s.keys[0]); err != nil {
		return "", time.Time{}, fmt.Errorf("sign a stream token: %w", err)
	}
	// Redis forgets it when it expires; its clock decides.
	return token, expires, s.tickets.store(ctx, token, caller, board, max(expires.Sub(now), time.Second))
}

// Redeem returns the claims of the bearer token that a token for a board was issued for. The
// first address that redeems it may do so again until it expires, to reconnect; no other may.
func (s *StreamTokens) Redeem(
	ctx context.Context, token string, board scoreboard.BoardID, address string,
) (*Claims, error) {
	if len(token) > maxStreamToken || strings.ContainsAny(token, lineBreaks) || checkJWSHeader(token) != nil {
		return nil, unauthorized("invalid stream token")
	}
	var claims jwtClaims
	_, err := s.parser.ParseWithClaims(token, &claims, func(t *jwt.Token) (any, error) {
		if _, ok := t.Header["crit"]; ok || t.Header["typ"] != streamType {
			return nil, errors.New("the signed object is not a stream token")
		}
		accepted := jwt.VerificationKeySet{}
		for _, key := range s.keys {
			accepted.Keys = append(accepted.Keys, key)
		}
		return accepted, nil
	})
	if err != nil {
		return nil, unauthorized("invalid stream token")
	}
	return s.tickets.consume(ctx, token, board, address)
}
