package auth

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Policy is which tokens are accepted, and how their claims are read.
type Policy struct {
	Issuer   string
	Audience string
	// ClientIDs are the clients whose tokens need no audience.
	ClientIDs []string
	// ScopeClaims are the claims that hold scopes.
	ScopeClaims []string
	// UserClaim is the claim that names the user; an email must be verified.
	UserClaim string
	MaxTTL    time.Duration // maximum of exp − iat; 0 for none
}

// jwtClaims are the claims of a token.
type jwtClaims struct {
	jwt.RegisteredClaims
	Scope string `json:"scope,omitempty"` // only written
	all   map[string]json.RawMessage
}

// UnmarshalJSON implements json.Unmarshaler.
func (c *jwtClaims) UnmarshalJSON(b []byte) (err error) {
	if c.all, err = membersOf(b); err != nil {
		return err
	}
	return decodeMembers(c.all, &c.RegisteredClaims, registeredClaims...)
}

// text returns a claim that is a string, "" for any other.
func (c *jwtClaims) text(name string) (text string) {
	if json.Unmarshal(c.all[name], &text) != nil {
		return ""
	}
	return text
}

// check returns why a token with a valid signature, issuer and time is not for this
// server; nil if it is.
func (p *Policy) check(c *jwtClaims) *Rejection {
	switch {
	case c.ExpiresAt == nil:
		return &Rejection{ReasonTime, "it has no exp"}
	case p.MaxTTL > 0 && c.IssuedAt == nil:
		return &Rejection{ReasonLifetime, "it has no iat, which the setting auth.max_token_ttl requires"}
	case p.MaxTTL > 0 && c.ExpiresAt.Sub(c.IssuedAt.Time) > p.MaxTTL:
		return &Rejection{ReasonLifetime, "its exp − iat is more than the setting auth.max_token_ttl"}
	case len(c.Audience) > 0:
		if !slices.Contains(c.Audience, p.Audience) {
			return &Rejection{ReasonAudience, "its aud does not contain the setting auth.audience"}
		}
		return nil
	}
	// Access tokens of Cognito name their client in client_id, session tokens of Clerk in
	// azp, and have no aud.
	client := c.text("client_id")
	if client == "" {
		client = c.text("azp")
	}
	if client == "" || !slices.Contains(p.ClientIDs, client) {
		return &Rejection{
			ReasonAudience, "it has no aud, and the setting auth.client_ids does not list its client_id or azp",
		}
	}
	return nil
}

// user returns the user of a token, and the id of the provider if it is another.
func (p *Policy) user(c *jwtClaims) (user scoreboard.UserID, external string, _ *Rejection) {
	if p.UserClaim == "email" && !c.emailVerified() {
		return "", "", &Rejection{
			ReasonUser, "its email_verified is not true, which the setting auth.user_claim requires",
		}
	}
	external = c.text(p.UserClaim)
	user, err := scoreboard.ExternalUserID(external)
	switch {
	case external == "":
		return "", "", &Rejection{ReasonUser, "it has no text in the claim of the setting auth.user_claim"}
	case err != nil:
		return "", "", &Rejection{ReasonUser, "the claim of the setting auth.user_claim is not the id of a user"}
	case string(user) == external:
		external = ""
	}
	return user, external, nil
}

// emailVerified reports whether the provider has verified the email. Apple sends a string.
func (c *jwtClaims) emailVerified() bool {
	switch string(c.all["email_verified"]) {
	case `true`, `"true"`:
		return true
	}
	return false
}

// scopes returns the scopes of a token: words of a string, or the strings of a list.
func (p *Policy) scopes(c *jwtClaims) (scopes []string, _ *Rejection) {
	for _, name := range p.ScopeClaims {
		value, ok := c.all[name]
		if !ok {
			continue
		}
		var text *string
		var list []string
		switch {
		case json.Unmarshal(value, &text) == nil:
			if text != nil {
				scopes = append(scopes, strings.Fields(*text)...)
			}
		case json.Unmarshal(value, &list) == nil:
			scopes = append(scopes, list...)
		default:
			return nil, &Rejection{ReasonScope, "a claim of the setting auth.scope_claims is neither a string nor a " +
				"list of strings"}
		}
	}
	return scopes, nil
}
