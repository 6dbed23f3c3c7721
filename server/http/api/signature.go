package api

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/http/auth"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// signer is the key that signed a write. The zero value is no key, where
// signatures are optional.
type signer struct {
	keyID string
	scope *scoreboard.KeyScope
}

// signatures verifies the signatures of writes, and counts writes against the rates of their
// keys.
type signatures struct {
	keyring *auth.Keyring
	policy  *atomic.Pointer[Policy]
	limit   func(perMinute int) KeyLimit // nil is off
	// hints says in rejections which text was to be signed, for development. It is made of the
	// request alone, but in production nobody gets a hint.
	hints bool
}

// checkSignature verifies the header scheme if its header is present, else the
// field scheme, and returns the key that signed: none if the request is not signed and
// need not be.
func (s *signatures) checkSignature(c *gin.Context, cmd *command, body []byte, optional bool) (signer, error) {
	if signature := c.GetHeader(wire.HeaderSignature); signature != "" {
		return s.checkHeaderSignature(c, signature, body)
	}
	if cmd.request.Signature == "" {
		if optional {
			return signer{}, nil
		}
		return signer{}, s.mismatch(cmd.request.KeyID, cmd.request.FieldText())
	}
	r := cmd.request
	if field := cmd.uncovered(); field != "" {
		return signer{}, scoreboard.Invalid(field,
			"the field signature does not cover %s: sign the request with headers instead", field)
	}
	return s.verifySignature(c, cmp.Or(r.KeyID, s.policy.Load().DefaultKey), r.FieldText(), r.Signature, cmd.Client)
}

// uncovered names a field of the increment that the field scheme does not sign; "": none.
func (cmd *command) uncovered() string {
	switch {
	case cmd.Attributes != nil:
		return "attributes"
	case cmd.IfPeriod != "":
		return "if_period"
	case cmd.Metadata != "":
		return "metadata"
	case cmd.Subscore != nil:
		return "subscore"
	}
	return ""
}

func (s *signatures) checkHeaderSignature(c *gin.Context, header string, body []byte) (signer, error) {
	keyID, timestamp := c.GetHeader(wire.HeaderKey), c.GetHeader(wire.HeaderTimestamp)
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	signature, ok := strings.CutPrefix(header, wire.SignatureVersion)
	if err != nil || !ok {
		return signer{}, auth.ErrSignature()
	}
	verify := func(body []byte) (signer, error) {
		text := wire.HeaderText(c.Request.Method, c.Request.URL.RequestURI(), keyID, timestamp, body)
		return s.verifySignature(c, keyID, text, signature, time.Unix(seconds, 0))
	}
	by, err := verify(body)
	// The mark is one of the bytes that were sent, unless a library has added it since they were signed.
	if wire.CodeOf(err) == wire.CodeInvalidSignature && c.GetBool(keyMarked) {
		return verify(slices.Concat(byteOrderMark, body))
	}
	return by, err
}

// verifySignature verifies a signature of text.
func (s *signatures) verifySignature(
	c *gin.Context, keyID string, text []byte, signature string, at time.Time,
) (signer, error) {
	scope, err := s.keyring.Check(c.Request.Context(), keyID, text, signature, at)
	if wire.CodeOf(err) == wire.CodeInvalidSignature {
		err = s.mismatch(keyID, text)
	}
	return signer{keyID, scope}, err
}

// mismatch returns the error of a signature that is not accepted.
func (s *signatures) mismatch(keyID string, text []byte) error {
	err := auth.ErrSignature()
	if !s.hints {
		return err
	}
	return scoreboard.Errorf(wire.CodeInvalidSignature,
		"%s; in development: the text to sign is %q, with the secret of the key %q",
		err.Message, text, cmp.Or(keyID, s.policy.Load().DefaultKey))
}

// restrict returns why the key may not sign an increment, and keeps rules from adding boards
// that the key may not write.
func (by signer) restrict(in *scoreboard.Increment) error {
	if by.scope == nil {
		return nil
	}
	if in.ByRules {
		in.RuleBoards = by.scope.Boards
	}
	return by.scope.Check(in)
}

// keyCharge is one event's token of a signing key's rate; the zero value is none.
type keyCharge struct {
	limit KeyLimit
	key   string
}

// chargeKey counts an increment, which is ready to be recorded, against its key's rate. The
// rate is one for all users of the key, so what their requests get wrong is checked before,
// and settle gives the token back if nothing was recorded.
func (s *signatures) chargeKey(ctx context.Context, by signer) (keyCharge, error) {
	if by.scope == nil || by.scope.PerMinute == 0 || s.limit == nil {
		return keyCharge{}, nil
	}
	limit := s.limit(by.scope.PerMinute)
	if err := take(ctx, limit, by.keyID); err != nil {
		return keyCharge{}, err
	}
	return keyCharge{limit, by.keyID}, nil
}

// settle gives the token back if the event was recorded before or is rejected. It counts
// if it was recorded or accepted, or if that is unknown.
func (k keyCharge) settle(receipts []scoreboard.Receipt, err error) {
	if k.limit == nil {
		return
	}
	code := wire.CodeOf(err)
	unknown := code == wire.CodeInternal || code == wire.CodeUnavailable
	if err != nil && !unknown || err == nil && len(receipts) > 0 && (receipts[0].Replayed || receipts[0].NotRecorded) {
		k.limit.Return(k.key)
	}
}
