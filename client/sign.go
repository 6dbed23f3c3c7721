package client

import (
	"net/http"
	"strconv"
	"time"

	"github.com/scoreboard/scoreboard/server/protocol"
)

// Signer signs writes with one key. The zero value signs nothing.
type Signer struct {
	KeyID  string
	Secret string
}

// Fields signs an increment by the field scheme: it sets the timestamp, the
// key id and the signature.
func (s Signer) Fields(r *protocol.IncrementRequest, now time.Time) {
	r.Timestamp = now.UTC().Format(time.RFC3339)
	if s.KeyID == "" {
		return
	}
	r.KeyID = s.KeyID
	r.Signature = protocol.Sign(s.Secret, r.FieldText())
}

// Headers signs a request by the header scheme. body is what the request
// carries.
func (s Signer) Headers(r *http.Request, body []byte, now time.Time) {
	if s.KeyID == "" {
		return
	}
	timestamp := strconv.FormatInt(now.Unix(), 10)
	text := protocol.HeaderText(r.Method, r.URL.RequestURI(), s.KeyID, timestamp, body)
	r.Header.Set(protocol.HeaderKey, s.KeyID)
	r.Header.Set(protocol.HeaderTimestamp, timestamp)
	r.Header.Set(protocol.HeaderSignature, protocol.SignatureVersion+protocol.Sign(s.Secret, text))
}
