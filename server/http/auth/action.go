package auth

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"slices"
	"strings"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// maxActionToken exceeds the longest action token: ten boards, the user, the action and
// the event, each with the longest name.
const maxActionToken = 1280

// The prefixes of action tokens are the versions of their format: for any event, and for
// one that is named after the action.
const (
	actionPrefix      = "at1."
	boundActionPrefix = "at2."
)

// ActionTokens signs and verifies action tokens with keys derived from the master
// keys: every node verifies the tokens of every other, and nothing that is signed for
// another purpose passes as one.
type ActionTokens struct{ keys [][]byte } // the first signs

// NewActionTokens derives the keys from master keys of 32 bytes in hex.
func NewActionTokens(masterKeys []string) (*ActionTokens, error) {
	keys, err := deriveKeys(masterKeys, "action tokens")
	if err != nil {
		return nil, err
	}
	return &ActionTokens{keys}, nil
}

// signAction covers the prefix of the second version only: the first has none in its text.
func signAction(key []byte, prefix string, payload []byte) []byte {
	mac := hmac.New(sha256.New, key)
	if prefix != actionPrefix {
		mac.Write([]byte(prefix))
	}
	mac.Write(payload)
	return mac.Sum(nil)
}

// Issue returns a token. Times have a precision of milliseconds.
func (t *ActionTokens) Issue(a *scoreboard.Action) string {
	b := append([]byte{}, a.ID[:]...)
	for _, n := range []int64{
		a.Issued.UnixMilli(), a.Expires.UnixMilli(), a.MinTime.Milliseconds(), a.MinDelta, a.MaxDelta,
	} {
		b = binary.AppendVarint(b, n)
	}
	b = appendText(b, string(a.User))
	b = appendText(b, a.Action)
	prefix := actionPrefix
	if a.Event != "" {
		prefix, b = boundActionPrefix, appendText(b, a.Event)
	}
	for _, board := range a.Boards {
		b = appendText(b, string(board))
	}
	return prefix + base64.RawURLEncoding.EncodeToString(append(b, signAction(t.keys[0], prefix, b)...))
}

// appendText appends a text with its length; all texts are shorter than 256 bytes.
func appendText(b []byte, s string) []byte { return append(append(b, byte(len(s))), s...) }

// errActionToken is the same error for every token that was not issued here.
func errActionToken() error {
	return &scoreboard.Error{Code: wire.CodeForbidden, Field: "action_token", Message: "invalid action token"}
}

// Verify parses a token of Issue, or returns forbidden. The caller checks whether the
// action covers the increment.
func (t *ActionTokens) Verify(token string) (*scoreboard.Action, error) {
	prefix := actionPrefix
	text, ok := strings.CutPrefix(token, actionPrefix)
	if !ok {
		prefix = boundActionPrefix
		text, ok = strings.CutPrefix(token, boundActionPrefix)
	}
	if !ok || len(token) > maxActionToken || strings.ContainsAny(token, lineBreaks) {
		return nil, errActionToken()
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(raw) < sha256.Size {
		return nil, errActionToken()
	}
	b, mac := raw[:len(raw)-sha256.Size], raw[len(raw)-sha256.Size:]
	if !slices.ContainsFunc(t.keys, func(key []byte) bool { return hmac.Equal(signAction(key, prefix, b), mac) }) {
		return nil, errActionToken()
	}
	a, ok := parseAction(b, prefix == boundActionPrefix)
	if !ok {
		return nil, errActionToken()
	}
	return a, nil
}

// parseAction parses a signed payload. Its lengths are checked all the same.
func parseAction(b []byte, bound bool) (*scoreboard.Action, bool) {
	a := &scoreboard.Action{}
	if len(b) < len(a.ID) {
		return nil, false
	}
	b = b[copy(a.ID[:], b):]
	var n [5]int64
	for i := range n {
		v, size := binary.Varint(b)
		if size <= 0 {
			return nil, false
		}
		n[i], b = v, b[size:]
	}
	a.Issued, a.Expires = time.UnixMilli(n[0]).UTC(), time.UnixMilli(n[1]).UTC()
	a.MinTime, a.MinDelta, a.MaxDelta = time.Duration(n[2])*time.Millisecond, n[3], n[4]
	var texts []string
	for len(b) > 0 {
		size := int(b[0])
		if len(b) <= size {
			return nil, false
		}
		texts, b = append(texts, string(b[1:1+size])), b[1+size:]
	}
	before := 2 // the boards
	if bound {
		before = 3
	}
	if len(texts) <= before {
		return nil, false
	}
	a.User, a.Action = scoreboard.UserID(texts[0]), texts[1]
	if bound {
		a.Event = texts[2]
	}
	for _, board := range texts[before:] {
		a.Boards = append(a.Boards, scoreboard.BoardID(board))
	}
	return a, true
}
