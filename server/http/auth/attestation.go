package auth

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/scoreboard/scoreboard/internal/jsonint"

	"github.com/golang-jwt/jwt/v5"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/protocol"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// maxAttestation bounds an attestation; request bodies are hardly longer.
const maxAttestation = 3072

// Attestations verifies the attestations of authoritative servers: compact JWS
// (RFC 7515) under their published keys.
type Attestations struct {
	keys   *KeySet
	parser *jwt.Parser
}

// NewAttestations verifies with the keys of a key set.
func NewAttestations(keys *KeySet) *Attestations {
	methods := []string{
		jwt.SigningMethodRS256.Alg(), jwt.SigningMethodES256.Alg(), jwt.SigningMethodEdDSA.Alg(),
	}
	return &Attestations{keys, jwt.NewParser(
		jwt.WithoutClaimsValidation(), jwt.WithStrictDecoding(), jwt.WithValidMethods(methods),
	)}
}

// AttestationForm is how attestations name what they are about. Their other claims are the
// same in every form.
type AttestationForm struct {
	User, Delta, Event, Action string             // names of claims
	Board                      scoreboard.BoardID // that they are for if they name none
	// Vouches says that one lets any caller write the increment, even without a token.
	Vouches bool
}

// NativeAttestation is the form of the native API: the fields of the increment.
var NativeAttestation = &AttestationForm{
	User: "user_id", Delta: "delta", Event: "event_id", Action: "action", Board: scoreboard.GlobalBoard,
}

// rename gives claims their native names. What has such a name in another form is not a
// claim of it.
func (f *AttestationForm) rename(claims map[string]json.RawMessage) {
	n := NativeAttestation
	named := make(map[string]json.RawMessage, 4)
	for native, name := range map[string]string{
		n.User: f.User, n.Delta: f.Delta, n.Event: f.Event, n.Action: f.Action,
	} {
		if value, ok := claims[name]; ok {
			named[native] = value
		}
	}
	for _, native := range []string{n.User, n.Delta, n.Event, n.Action} {
		delete(claims, native)
	}
	maps.Copy(claims, named)
}

// attested is the payload: the fields of the increment as it is submitted.
type attested struct {
	form *AttestationForm
	jwt.RegisteredClaims
	User   string   `json:"user_id"`
	Delta  *int64   `json:"delta"`
	Event  string   `json:"event_id"`
	Board  string   `json:"board"`
	Boards []string `json:"boards"`
	Action string   `json:"action"`

	IfPeriod string      `json:"if_period"`
	Metadata wire.Object `json:"metadata"`

	Subscore *scoreboard.Score `json:"subscore"`
}

// UnmarshalJSON implements json.Unmarshaler.
func (a *attested) UnmarshalJSON(b []byte) error {
	type plain attested // without this method
	claims, err := membersOf(b)
	if err != nil {
		return err
	}
	a.form.rename(claims)
	if delta, ok := claims[NativeAttestation.Delta]; ok {
		claims[NativeAttestation.Delta] = jsonint.Plain(delta)
	}
	if subscore, ok := claims["subscore"]; ok {
		claims["subscore"] = jsonint.Plain(subscore)
	}
	return decodeMembers(claims, (*plain)(a), slices.Concat(registeredClaims,
		[]string{"user_id", "delta", "event_id", "board", "boards", "action", "if_period", "metadata", "subscore"})...)
}

// Verify returns the content of an attestation in a form, or forbidden; unavailable until
// the keys have been read once. The fields are not validated; the caller checks that they
// equal those of an increment.
func (a *Attestations) Verify(
	ctx context.Context, jws string, form *AttestationForm,
) (*scoreboard.Attestation, error) {
	if len(jws) > maxAttestation || strings.ContainsAny(jws, lineBreaks) {
		return nil, errAttestation(nil)
	}
	if err := checkJWSHeader(jws); err != nil {
		return nil, errAttestation(err)
	}
	claims := attested{form: form}
	_, err := a.parser.ParseWithClaims(jws, &claims, func(token *jwt.Token) (any, error) {
		if _, ok := token.Header["crit"]; ok {
			return nil, errors.New("the attestation has critical extensions")
		}
		if !hasType(token.Header, "jwt", "jose", "attestation+jwt") {
			return nil, errors.New("the signed object is not an attestation")
		}
		return a.keys.key(ctx, token)
	})
	if wire.CodeOf(err) == wire.CodeUnavailable {
		return nil, err
	}
	if err != nil || claims.Delta == nil || claims.Board != "" && claims.Boards != nil {
		return nil, errAttestation(err)
	}
	out := &scoreboard.Attestation{
		User: scoreboard.UserID(claims.User), Delta: *claims.Delta, Event: claims.Event, Action: claims.Action,
		IfPeriod: scoreboard.BoardID(claims.IfPeriod), Subscore: claims.Subscore,
	}
	if out.Metadata, err = protocol.ParseMetadata(claims.Metadata); err != nil {
		return nil, errAttestation(err)
	}
	switch {
	case claims.Board != "":
		out.Boards = []scoreboard.BoardID{scoreboard.BoardID(claims.Board)}
	case claims.Boards == nil:
		out.Boards = []scoreboard.BoardID{form.Board}
	}
	for _, board := range claims.Boards {
		out.Boards = append(out.Boards, scoreboard.BoardID(board))
	}
	if claims.ExpiresAt != nil {
		out.Expires = claims.ExpiresAt.Add(leeway).Truncate(time.Second)
	}
	if claims.IssuedAt != nil {
		out.Issued = claims.IssuedAt.Time
	}
	if claims.NotBefore != nil {
		out.NotBefore = claims.NotBefore.Time
	}
	return out, nil
}

// errAttestation is the same error for every attestation that is not valid.
func errAttestation(err error) error {
	return &scoreboard.Error{
		Code: wire.CodeForbidden, Field: "attestation", Message: "invalid attestation", Err: err,
	}
}
