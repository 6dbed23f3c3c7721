package main

import (
	"encoding/json"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/server/auth"
	"github.com/scoreboard/scoreboard/server/protocol"
)

// signatures returns the attacks on signatures.
func (s *attackSuite) signatures() (attacks []attack) {
	p, key, now, alice, signed, change := s.p, s.key, s.now, s.alice, s.signed, s.change
	signature := func(name, body string) {
		attacks = append(attacks, attack{
			name: name, method: "POST", path: increment, token: alice, body: body, status: 401,
			code: "invalid_signature",
		})
	}
	signature("an unknown key", signed(func(r *protocol.IncrementRequest) { r.KeyID = "k_nobody" }))
	signature("a key id that is a path", signed(func(r *protocol.IncrementRequest) { r.KeyID = "../../etc/passwd" }))
	signature("a key id that is SQL", signed(func(r *protocol.IncrementRequest) { r.KeyID = "'; drop table keys; --" }))
	signature("a key id of zeros", signed(func(r *protocol.IncrementRequest) { r.KeyID = "\x00" }))
	signature("no signature", strings.Replace(signed(nil), `"signature":`, `"action":"x","attestation":`, 1))
	signature("an empty signature", strings.Replace(signed(nil), signatureOf(signed(nil)), "", 1))
	signature("a signature cut short", strings.Replace(signed(nil), signatureOf(signed(nil)),
		signatureOf(signed(nil))[:32], 1))
	signature("a signature of another event", strings.Replace(signed(nil), `"e1"`, `"e2"`, 1))
	signature("a changed delta", change(`"delta":5`, `"delta":6`))
	signature("a changed board", change(`"timestamp"`, `"board":"global","timestamp"`))
	signature("a changed action", change(`"timestamp"`, `"action":"walk","timestamp"`))
	signature("another spelling of the time", change("Z\"", "+00:00\""))
	signature("a replay after its minute",
		signed(func(r *protocol.IncrementRequest) { r.Timestamp = now.Add(-90 * time.Second).Format(time.RFC3339) }))
	signature("a time ahead",
		signed(func(r *protocol.IncrementRequest) { r.Timestamp = now.Add(5 * time.Minute).Format(time.RFC3339) }))
	// The board as the action: the signed text has an empty board part, so the
	// delimiter cannot move.
	signature("board and action swapped", signed(func(r *protocol.IncrementRequest) {
		r.Board = "global"
		r.Signature = protocol.Sign(key.Secret, (&protocol.IncrementRequest{
			UserID: r.UserID, Delta: r.Delta, EventID: r.EventID, Timestamp: r.Timestamp, Action: "global",
		}).FieldText())
	}))
	attacks = append(attacks, attack{
		name: "a changed user", method: "POST", path: increment, token: p.good("bob", ""), body: change(`"alice"`,
			`"bob"`),
		status: 401, code: "invalid_signature",
	})
	body := signed(nil)
	stamp := now.Format("20060102") // not Unix seconds
	attacks = append(attacks,
		attack{
			name: "a header signature of another path", method: "POST", path: increment, token: alice, body: body,
			status: 401, code: "invalid_signature",
			header: header(key, "POST", "/v1/scores/increments", body, now),
		},
		attack{
			name: "a header signature of another method", method: "POST", path: increment, token: alice, body: body,
			status: 401, code: "invalid_signature",
			header: header(key, "PUT", increment, body, now),
		},
		attack{
			name: "a header signature of another body", method: "POST", path: increment, token: alice, body: body,
			status: 401, code: "invalid_signature",
			header: header(key, "POST", increment, body+" ", now),
		},
		attack{
			name: "a header signature with a query added", method: "POST", path: increment +
				"?a=1", token: alice, body: body, status: 401, code: "invalid_signature",
			header: header(key, "POST", increment, body, now),
		},
		attack{
			name: "an old header signature", method: "POST", path: increment, token: alice, body: body, status: 401,
			code:   "invalid_signature",
			header: header(key, "POST", increment, body, now.Add(-2*time.Minute)),
		},
		attack{
			name: "an invalid time in the header", method: "POST", path: increment, token: alice, body: body,
			status: 401, code: "invalid_signature",
			header: map[string]string{
				protocol.HeaderKey: key.KeyID, protocol.HeaderTimestamp: stamp + "x",
				protocol.HeaderSignature: "v1=00",
			},
		},
		attack{
			name: "a signature of another version", method: "POST", path: increment, token: alice, body: body,
			status: 401, code: "invalid_signature",
			header: map[string]string{
				protocol.HeaderKey: key.KeyID, protocol.HeaderTimestamp: "1",
				protocol.HeaderSignature: "v0=00",
			},
		})
	return attacks
}

// forms returns malformed bodies: a signed body must have one reading only.
func (s *attackSuite) forms() (attacks []attack) {
	alice, change := s.alice, s.change
	forms := func(name, body string, status int, code string) {
		attacks = append(attacks, attack{
			name: name, method: "POST", path: increment, token: alice, body: body,
			status: status, code: code,
		})
	}
	for name, delta := range map[string]string{
		"05": "05", "+5": "+5", "5.0": "5.0", "5e0": "5e0", "0x5": "0x5", "text": `"5"`, "-0": "-0",
		"Arabic digits": "٥", "full-width digits": "５", "null": "null", "true": "true",
	} {
		forms("a delta as "+name, change(`"delta":5`, `"delta":`+delta), 400, "invalid_request")
	}
	forms("a delta of 2^53", change(`"delta":5`, `"delta":9007199254740992`), 422, "delta_out_of_range")
	forms("a delta of 2^64 + 5", change(`"delta":5`, `"delta":18446744073709551621`), 422, "delta_out_of_range")
	forms("the delta twice", change(`"delta":5`, `"delta":5,"delta":500`), 400, "invalid_request")
	forms("the delta twice, once escaped", change(`"delta":5`, `"delta":5,"\u0064elta":500`), 400, "invalid_request")
	forms("a field in capitals", change(`"delta":5`, `"Delta":5`), 400, "invalid_request")
	forms("the delimiter in the event", change(`"e1"`, `"e|1"`), 400, "invalid_request")
	forms("the delimiter in the time", change(`"timestamp":"`, `"timestamp":"|`), 400, "invalid_request")
	forms("the delimiter in the action", change(`"timestamp"`, `"action":"a|b","timestamp"`), 400, "invalid_request")
	forms("the delimiter in the board", change(`"timestamp"`, `"board":"a|b","timestamp"`), 400, "invalid_request")
	forms("a comma in the board", change(`"timestamp"`, `"board":"a,b","timestamp"`), 400, "invalid_request")
	forms("a user in another alphabet", change(`"alice"`, `"аlice"`), 400, "invalid_request")
	forms("a user with a zero", change(`"alice"`, `"alice\u0000"`), 400, "invalid_request")
	for _, field := range []string{
		"version", "score", "new_score", "rank", "recorded_at", "applied", "replayed", "key",
		"source", "hidden", "status",
	} {
		forms("mass assignment of "+field, change(`"delta":5`, `"delta":5,"`+field+`":1`), 400, "invalid_request")
	}
	forms("a bomb of brackets", strings.Repeat("[", 4000), 400, "invalid_request")
	forms("more than 4 KiB", change(`"alice"`, `"`+strings.Repeat("a", 5000)+`"`), 413, "payload_too_large")
	return attacks
}

func signatureOf(body string) string {
	var r protocol.IncrementRequest
	if err := json.Unmarshal([]byte(body), &r); err != nil {
		panic(err) // cannot fail for our own type
	}
	return r.Signature
}

// header signs the given method, path and body; the request may differ from them.
func header(key client.Key, method, path, body string, at time.Time) map[string]string {
	r := httptest.NewRequest(method, path, nil) //nolint:noctx // it is not sent
	client.Signer{KeyID: key.KeyID, Secret: key.Secret}.Headers(r, []byte(body), at)
	out := map[string]string{}
	for _, name := range []string{protocol.HeaderKey, protocol.HeaderTimestamp, protocol.HeaderSignature} {
		out[name] = r.Header.Get(name)
	}
	return out
}

// requests returns the attacks on routes, users and origins.
func (s *attackSuite) requests() (attacks []attack) {
	p, alice, signed := s.p, s.alice, s.signed
	request := func(name, method, path, token, body string, status int, code string) {
		attacks = append(attacks, attack{
			name: name, method: method, path: path, token: token, body: body,
			status: status, code: code,
		})
	}
	mallory, server := p.good("mallory", ""), p.good("game", auth.ScopeUpdate)
	request("an increment for another", "POST", increment, mallory, signed(nil), 403, "forbidden")
	request("another's event", "GET", "/v1/events/theirs?user_id=alice", mallory, "", 403, "forbidden")
	request("another's event id as one's own", "GET", "/v1/events/theirs", mallory, "", 404, "not_found")
	request("another's statement", "GET", "/v1/users/alice/statement", mallory, "", 403, "forbidden")
	request("another's statement with score:update", "GET", "/v1/users/alice/statement", server, "", 403, "forbidden")
	request("another's profile", "PUT", "/v1/users/alice/profile", mallory, `{"display_name":"x"}`, 403, "forbidden")
	request("an action for another", "POST", "/v1/actions", mallory, `{"user_id":"alice"}`, 403, "forbidden")
	request("a batch without its scope", "POST", "/v1/scores/increments", alice, `{"items":[]}`, 403, "forbidden")
	request("a key by score:update", "POST", "/v1/admin/keys", server, `{"name":"mine"}`, 403, "forbidden")
	request("a user's id that is a path", "GET", "/v1/users/..%2f..%2fadmin%2fkeys/score", alice, "", 400,
		"invalid_request")
	request("a path that climbs", "GET", "/v1/users/../admin/keys", alice, "", 404, "not_found")
	request("SQL in a board", "GET", "/v1/leaderboard/top?board=%27%3B+drop+table+boards%3B--", alice, "", 400,
		"invalid_request")
	request("SQL in a cursor", "GET", "/v1/leaderboard/top?cursor=%27or%201=1", alice, "", 400, "invalid_request")
	root := p.good("root", auth.ScopeAdmin)
	request("a key's secret of one's own", "POST", "/v1/admin/keys", root, `{"name":"x","secret":"sk_mine"}`, 400,
		"invalid_request")
	request("a key's name twice", "POST", "/v1/admin/keys", root, `{"name":"x","name":"y"}`, 400, "invalid_request")
	request("a key's name in capitals", "POST", "/v1/admin/keys", root, `{"NAME":"x"}`, 400, "invalid_request")
	request("a token by the development issuer", "POST", "/v1/admin/tokens", root, `{"user_id":"alice"}`, 404,
		"not_found")
	upgrade := map[string]string{
		"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13",
		"Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
	}
	for name, origin := range map[string]string{
		"a foreign": "https://evil.example", "a longer": "https://game.example.evil.example", "a null": "null",
		"another scheme's": "http://game.example",
		"another port's":   "https://game.example:8443", "a subdomain's": "https://a.game.example",
	} {
		with := map[string]string{"Origin": origin}
		for k, v := range upgrade {
			with[k] = v
		}
		attacks = append(attacks, attack{
			name: "a WebSocket from " + name + " origin", method: "GET", path: "/v1/realtime/leaderboard", token: alice,
			header: with, status: 403, code: "forbidden",
		})
	}
	return attacks
}
