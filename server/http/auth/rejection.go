package auth

import (
	"errors"

	"github.com/golang-jwt/jwt/v5"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// The reasons for which tokens are rejected. They are labels of a metric.
const (
	ReasonMissing   = "missing"
	ReasonMalformed = "malformed"
	ReasonType      = "type" // signed for another purpose, or with critical extensions
	ReasonAlgorithm = "algorithm"
	ReasonKey       = "key" // unknown or withdrawn
	ReasonSignature = "signature"
	ReasonExpired   = "expired"
	ReasonTime      = "time" // not valid yet, or without exp
	ReasonLifetime  = "lifetime"
	ReasonIssuer    = "issuer"
	ReasonAudience  = "audience"
	ReasonScope     = "scope"
	ReasonUser      = "user"
	ReasonDisabled  = "disabled" // the server accepts no tokens
)

// RejectionReasons lists the reasons for which tokens are rejected.
func RejectionReasons() []string {
	return []string{
		ReasonMissing, ReasonMalformed, ReasonType, ReasonAlgorithm, ReasonKey, ReasonSignature, ReasonExpired,
		ReasonTime, ReasonLifetime, ReasonIssuer, ReasonAudience, ReasonScope, ReasonUser, ReasonDisabled,
	}
}

// Rejection is why a token was rejected: a reason, and a text for the client that sent the token.
// The text names claims and settings, but has no values of either.
type Rejection struct{ Reason, Text string }

func (r *Rejection) Error() string { return r.Text }

// reject returns unauthorized with a reason.
func reject(reason, text string) error { return unauthorizedBy(&Rejection{reason, text}) }

func unauthorizedBy(r *Rejection) error {
	return &scoreboard.Error{Code: wire.CodeUnauthorized, Message: "invalid token: " + r.Text, Err: r}
}

// ErrNoToken is the error of a request without a token that requires one.
func ErrNoToken() error {
	r := &Rejection{ReasonMissing, "a bearer token is required"}
	return &scoreboard.Error{Code: wire.CodeUnauthorized, Message: r.Text, Err: r}
}

// expired is why a token is rejected that was valid once.
var expired = Rejection{ReasonExpired, "it has expired"}

// parserReasons are the errors of the parser, which verifies the signature before it
// reads claims. Of several the first counts: who only lets a token expire is not an attacker.
var parserReasons = []struct {
	err error
	Rejection
}{
	{jwt.ErrTokenMalformed, Rejection{ReasonMalformed, "it is not a JWT"}},
	{jwt.ErrTokenSignatureInvalid, Rejection{ReasonSignature, "its signature is wrong"}},
	{jwt.ErrTokenUnverifiable, Rejection{ReasonKey, "its key is unknown"}},
	{jwt.ErrTokenExpired, expired},
	{jwt.ErrTokenNotValidYet, Rejection{ReasonTime, "its nbf is in the future"}},
	{jwt.ErrTokenUsedBeforeIssued, Rejection{ReasonTime, "its iat is in the future"}},
	{jwt.ErrTokenInvalidIssuer, Rejection{ReasonIssuer, "its iss is not the setting auth.issuer"}},
}

// rejectionOf returns why the parser rejected a token.
func rejectionOf(err error) *Rejection {
	var own *Rejection
	if errors.As(err, &own) {
		return own
	}
	for _, known := range parserReasons {
		if errors.Is(err, known.err) {
			return &known.Rejection
		}
	}
	return &Rejection{ReasonMalformed, "its claims are invalid"}
}
