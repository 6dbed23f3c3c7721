package auth

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// maxAttestation bounds what is looked at; a request's body is hardly longer.
const maxAttestation = 3072

// Attestations verifies what authoritative servers say about increments:
// compact JWS (RFC 7515) under the keys that they publish.
type Attestations struct {
	keys   *KeySet
	parser *jwt.Parser
}

// NewAttestations verifies by a key set.
func NewAttestations(keys *KeySet) *Attestations {
	return &Attestations{keys, jwt.NewParser(jwt.WithoutClaimsValidation(), jwt.WithStrictDecoding(), jwt.WithValidMethods([]string{
		jwt.SigningMethodRS256.Alg(), jwt.SigningMethodES256.Alg(), jwt.SigningMethodEdDSA.Alg(),
	}))}
}

// attested is the payload: the increment as it is submitted, field by field.
type attested struct {
	jwt.RegisteredClaims
	User   string   `json:"user_id"`
	Delta  *int64   `json:"delta"`
	Event  string   `json:"event_id"`
	Board  string   `json:"board"`
	Boards []string `json:"boards"`
	Action string   `json:"action"`
}

// Verify returns what an attestation says, or forbidden; unavailable while the
// keys have never been read. The boards are global where it names none, as in an
// increment. What it says has the form of an increment only once it covers one.
func (a *Attestations) Verify(ctx context.Context, jws string) (*scoreboard.Attestation, error) {
	if len(jws) > maxAttestation || strings.ContainsAny(jws, lineBreaks) {
		return nil, errAttestation(nil)
	}
	var said attested
	_, err := a.parser.ParseWithClaims(jws, &said, func(token *jwt.Token) (any, error) {
		if _, ok := token.Header["crit"]; ok {
			return nil, errors.New("the attestation has critical extensions")
		}
		return a.keys.key(ctx, token)
	})
	if scoreboard.CodeOf(err) == scoreboard.CodeUnavailable {
		return nil, err
	}
	if err != nil || said.Delta == nil || said.Board != "" && said.Boards != nil {
		return nil, errAttestation(err)
	}
	out := &scoreboard.Attestation{User: scoreboard.UserID(said.User), Delta: *said.Delta, Event: said.Event, Action: said.Action}
	switch {
	case said.Board != "":
		out.Boards = []scoreboard.BoardID{scoreboard.BoardID(said.Board)}
	case said.Boards == nil:
		out.Boards = []scoreboard.BoardID{scoreboard.GlobalBoard}
	}
	for _, board := range said.Boards {
		out.Boards = append(out.Boards, scoreboard.BoardID(board))
	}
	if said.ExpiresAt != nil {
		out.Expires = said.ExpiresAt.Add(leeway).Truncate(time.Second)
	}
	return out, nil
}

// errAttestation is the one answer to every attestation that does not hold.
func errAttestation(err error) error {
	return &scoreboard.Error{Code: scoreboard.CodeForbidden, Field: "attestation", Message: "the attestation does not hold", Err: err}
}
