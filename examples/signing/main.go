// Program signing has both signature schemes of scoreboard, with the standard library.
// The Go client signs by itself; this is for programs that do not use it.
package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

const secret = "sk_test_0123456789abcdef" // as it was shown; this one is only for tests

func sign(text string) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(text))
	return hex.EncodeToString(mac.Sum(nil))
}

// signFields returns the value of "signature" in the body.
func signFields(user string, delta int64, event, timestamp string, boards []string, action string) string {
	text := fmt.Sprintf("%s|%d|%s|%s", user, delta, event, timestamp)
	if len(boards) > 0 || action != "" {
		text += "|" + strings.Join(boards, ",")
	}
	if action != "" {
		text += "|" + action
	}
	return sign(text)
}

// signHeaders returns the value of X-Scoreboard-Signature.
func signHeaders(method, target, keyID string, seconds int64, body []byte) string {
	return "v1=" + sign(fmt.Sprintf("%s\n%s\n%s\n%d\n%x", method, target, keyID, seconds, sha256.Sum256(body)))
}

// main prints the signatures of the test vectors, in their order.
func main() {
	const event, time = "3f8a2c1e-6b0d-4b7e-9a53-0c1d2e3f4a5b", "2026-11-21T12:00:00Z"
	fmt.Println(signFields("alice", 5, event, time, nil, ""))
	fmt.Println(signFields("alice", 5, event, time, []string{"global", "daily"}, ""))
	fmt.Println(signFields("alice", 5, event, time, []string{"weekly"}, ""))
	fmt.Println(signFields("alice", 5, event, time, nil, "kill"))
	fmt.Println(signFields("alice", 5, event, time, []string{"weekly"}, "kill"))
	fmt.Println(signFields("eu:bob@example.com", -3, "match-8841:round.2", "2026-11-21T13:00:00.250+01:00", nil, ""))
	fmt.Println(signHeaders("POST", "/v1/scores/increments", "k1", 1795262400, []byte(`{"items":[]}`)))
	body := `{"user_id":"alice","delta":5,"event_id":"match-8841","timestamp":"2026-11-21T12:00:00Z"}`
	fmt.Println(signHeaders("POST", "/v1/scores/increment", "k1", 1795262400, []byte(body)))
	body = `{"display_name":"Zoë"}`
	fmt.Println(signHeaders("PUT", "/v1/users/alice/profile?reason=new%20name", "k1", 1795262400, []byte(body)))
	fmt.Println(signHeaders("GET", "/v1/events/match-8841?user_id=alice", "k1", 1795262400, nil))
}
