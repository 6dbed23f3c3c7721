package wire

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
)

// The headers of the header signature scheme.
const (
	HeaderKey       = "X-Scoreboard-Key"
	HeaderTimestamp = "X-Scoreboard-Timestamp"
	HeaderSignature = "X-Scoreboard-Signature"
)

// SignatureVersion is the prefix of the value of HeaderSignature.
const SignatureVersion = "v1="

// FieldText returns the text that the field scheme signs (specification A):
// user_id|delta|event_id|timestamp as in the body, then |boards and |action if given.
// No field but user_id can contain the delimiter, and that only as the id of a token's own
// user at the identity provider. The texts of two increments differ all the same: no
// timestamp is the name of a board.
func (r *IncrementRequest) FieldText() []byte {
	b := make([]byte, 0, 192)
	b = append(b, r.UserID...)
	b = append(b, '|')
	if r.SignedDelta != "" {
		b = append(b, r.SignedDelta...)
	} else {
		b = strconv.AppendInt(b, r.Delta, 10)
	}
	b = append(b, '|')
	b = append(b, r.EventID...)
	b = append(b, '|')
	b = append(b, r.Timestamp...)
	boards := r.Board
	if len(r.Boards) > 0 {
		boards = strings.Join(r.Boards, ",")
	}
	if boards != "" || r.Action != "" {
		b = append(b, '|')
		b = append(b, boards...)
	}
	if r.Action != "" {
		b = append(b, '|')
		b = append(b, r.Action...)
	}
	return b
}

// HeaderText returns the text that the header scheme signs. pathQuery is the request
// target as sent, timestamp is in Unix seconds.
func HeaderText(method, pathQuery, key, timestamp string, body []byte) []byte {
	sum := sha256.Sum256(body)
	b := make([]byte, 0, len(method)+len(pathQuery)+len(key)+len(timestamp)+2*len(sum)+4)
	b = append(b, method...)
	b = append(b, '\n')
	b = append(b, pathQuery...)
	b = append(b, '\n')
	b = append(b, key...)
	b = append(b, '\n')
	b = append(b, timestamp...)
	b = append(b, '\n')
	return hex.AppendEncode(b, sum[:])
}

// Sign returns the HMAC-SHA256 of text in lower-case hex. The UTF-8 bytes of the
// secret, as it was shown, are the key.
func Sign(secret string, text []byte) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(text)
	return hex.EncodeToString(mac.Sum(nil))
}
