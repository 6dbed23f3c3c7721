package loadgen

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"

	vegeta "github.com/tsenart/vegeta/v12/lib"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/server/protocol"
)

// Server is where the increments go and by whose leave.
type Server struct {
	URL       string
	Token     string // with scope score:update, for it writes for many users
	KeyID     string
	KeySecret string
}

// targets makes the request of each increment at the moment it is sent, so
// that its timestamp is as fresh as a client's.
func targets(s Server, d *draw) vegeta.Targeter {
	signer := client.Signer{KeyID: s.KeyID, Secret: s.KeySecret}
	url := strings.TrimSuffix(s.URL, "/") + "/v1/scores/increment"
	header := http.Header{
		"Authorization": {"Bearer " + s.Token},
		"Content-Type":  {"application/json"},
		"User-Agent":    {"scoreboard-loadgen"},
	}
	return func(t *vegeta.Target) error {
		user, delta := d.next()
		r := protocol.IncrementRequest{UserID: user, Delta: delta, EventID: client.NewEventID()}
		signer.Fields(&r, time.Now())
		body, err := json.Marshal(&r)
		if err != nil {
			return err
		}
		t.Method, t.URL, t.Body, t.Header = http.MethodPost, url, body, header
		return nil
	}
}
