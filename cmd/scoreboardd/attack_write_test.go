package main

import (
	"encoding/json"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/http/auth"
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
	signature("unknown key", signed(func(r *wire.IncrementRequest) { r.KeyID = "k_unknown" }))
	signature("path as key id", signed(func(r *wire.IncrementRequest) { r.KeyID = "../../etc/passwd" }))
	signature("SQL as key id", signed(func(r *wire.IncrementRequest) { r.KeyID = "'; drop table keys; --" }))
	signature("no signature", strings.Replace(signed(nil), `"signature":`, `"action":"x","attestation":`, 1))
	signature("empty signature", strings.Replace(signed(nil), signatureOf(signed(nil)), "", 1))
	signature("truncated signature", strings.Replace(signed(nil), signatureOf(signed(nil)),
		signatureOf(signed(nil))[:32], 1))
	signature("signature of another event", strings.Replace(signed(nil), `"e1"`, `"e2"`, 1))
	signature("changed delta", change(`"delta":5`, `"delta":6`))
	signature("changed board", change(`"timestamp"`, `"board":"global","timestamp"`))
	signature("changed action", change(`"timestamp"`, `"action":"walk","timestamp"`))
	signature("time in another format", change("Z\"", "+00:00\""))
	signature("replay after a minute",
		signed(func(r *wire.IncrementRequest) { r.Timestamp = now.Add(-90 * time.Second).Format(time.RFC3339) }))
	signature("time in the future",
		signed(func(r *wire.IncrementRequest) { r.Timestamp = now.Add(5 * time.Minute).Format(time.RFC3339) }))
	// The board as the action: the signed text has an empty board part, so the
	// delimiter cannot move.
	signature("board and action swapped", signed(func(r *wire.IncrementRequest) {
		r.Board = "global"
		r.Signature = wire.Sign(key.Secret, (&wire.IncrementRequest{
			UserID: r.UserID, Delta: r.Delta, EventID: r.EventID, Timestamp: r.Timestamp, Action: "global",
		}).FieldText())
	}))
	attacks = append(attacks, attack{
		name: "changed user", method: "POST", path: increment, token: p.good("bob", ""),
		body: change(`"alice"`, `"bob"`), status: 401, code: "invalid_signature",
	})
	body := signed(nil)
	stamp := now.Format("20060102") // not Unix seconds
	attacks = append(attacks,
		attack{
			name: "header signature of another path", method: "POST", path: increment, token: alice, body: body,
			status: 401, code: "invalid_signature",
			header: header(key, "POST", "/v1/scores/increments", body, now),
		},
		attack{
			name: "header signature of another method", method: "POST", path: increment, token: alice, body: body,
			status: 401, code: "invalid_signature",
			header: header(key, "PUT", increment, body, now),
		},
		attack{
			name: "header signature of another body", method: "POST", path: increment, token: alice, body: body,
			status: 401, code: "invalid_signature",
			header: header(key, "POST", increment, body+" ", now),
		},
		attack{
			name: "header signature without the query", method: "POST", path: increment + "?&",
			token: alice, body: body, status: 401, code: "invalid_signature",
			header: header(key, "POST", increment, body, now),
		},
		attack{
			name: "old header signature", method: "POST", path: increment, token: alice, body: body, status: 401,
			code:   "invalid_signature",
			header: header(key, "POST", increment, body, now.Add(-2*time.Minute)),
		},
		attack{
			name: "invalid time in the header", method: "POST", path: increment, token: alice, body: body,
			status: 401, code: "invalid_signature",
			header: map[string]string{
				wire.HeaderKey: key.KeyID, wire.HeaderTimestamp: stamp + "x",
				wire.HeaderSignature: "v1=00",
			},
		},
		attack{
			name: "unknown signature version", method: "POST", path: increment, token: alice, body: body,
			status: 401, code: "invalid_signature",
			header: map[string]string{
				wire.HeaderKey: key.KeyID, wire.HeaderTimestamp: "1",
				wire.HeaderSignature: "v0=00",
			},
		})
	return attacks
}

// forms returns malformed bodies: a signed body must be unambiguous.
func (s *attackSuite) forms() (attacks []attack) {
	alice, change := s.alice, s.change
	forms := func(name, body string, status int, code string) {
		attacks = append(attacks, attack{
			name: name, method: "POST", path: increment, token: alice, body: body,
			status: status, code: code,
		})
	}
	for name, delta := range map[string]string{
		"05": "05", "+5": "+5", "5.5": "5.5", "5e-1": "5e-1", "0x5": "0x5", "text": `"5"`, "-0": "-0",
		"Arabic digits": "٥", "full-width digits": "５", "null": "null", "true": "true",
	} {
		forms("delta as "+name, change(`"delta":5`, `"delta":`+delta), 400, "invalid_request")
	}
	forms("delta of 2^53", change(`"delta":5`, `"delta":9007199254740992`), 422, "delta_out_of_range")
	forms("delta of 2^64 + 5", change(`"delta":5`, `"delta":18446744073709551621`), 422, "delta_out_of_range")
	forms("duplicate delta", change(`"delta":5`, `"delta":5,"delta":500`), 400, "invalid_request")
	forms("duplicate delta, escaped", change(`"delta":5`, `"delta":5,"\u0064elta":500`), 400, "invalid_request")
	forms("field in upper case", change(`"delta":5`, `"Delta":5`), 400, "invalid_request")
	forms("delimiter in the event", change(`"e1"`, `"e|1"`), 400, "invalid_request")
	forms("delimiter in the time", change(`"timestamp":"`, `"timestamp":"|`), 400, "invalid_request")
	forms("delimiter in the action", change(`"timestamp"`, `"action":"a|b","timestamp"`), 400, "invalid_request")
	forms("delimiter in the board", change(`"timestamp"`, `"board":"a|b","timestamp"`), 400, "invalid_request")
	forms("comma in the board", change(`"timestamp"`, `"board":"a,b","timestamp"`), 400, "invalid_request")
	forms("look-alike letter in the user", change(`"alice"`, `"аlice"`), 400, "invalid_request")
	forms("NUL as key id", s.signed(func(r *wire.IncrementRequest) { r.KeyID = "\x00" }), 400, "invalid_request")
	forms("NUL in the user", change(`"alice"`, `"alice\u0000"`), 400, "invalid_request")
	for _, field := range []string{
		"version", "score", "new_score", "rank", "recorded_at", "applied", "replayed", "key",
		"source", "hidden", "status",
	} {
		forms("mass assignment of "+field, change(`"delta":5`, `"delta":5,"`+field+`":1`), 400, "invalid_request")
	}
	forms("4000 nested arrays", strings.Repeat("[", 4000), 400, "invalid_request")
	forms("more than 4 KiB", change(`"alice"`, `"`+strings.Repeat("a", 5000)+`"`), 413, "payload_too_large")
	return attacks
}

func signatureOf(body string) string {
	var r wire.IncrementRequest
	if err := json.Unmarshal([]byte(body), &r); err != nil {
		panic(err) // cannot fail for this type
	}
	return r.Signature
}

// header signs the given method, path and body; the request may differ from them.
func header(key client.Key, method, path, body string, at time.Time) map[string]string {
	r := httptest.NewRequest(method, path, nil) //nolint:noctx // it is not sent
	client.Signer{KeyID: key.KeyID, Secret: key.Secret}.Headers(r, []byte(body), at)
	out := map[string]string{}
	for _, name := range []string{wire.HeaderKey, wire.HeaderTimestamp, wire.HeaderSignature} {
		out[name] = r.Header.Get(name)
	}
	return out
}

// requests collects attacks.
type requests []attack

func (r *requests) add(name, method, path, token, body string, status int, code string) {
	*r = append(*r, attack{
		name: name, method: method, path: path, token: token, body: body, status: status, code: code,
	})
}

// player returns the attacks with a player's token on others' data and on the server.
func (s *attackSuite) player() (attacks requests) {
	alice, mallory, request := s.alice, s.p.good("mallory", ""), attacks.add
	request("increment for another user", "POST", increment, mallory, s.signed(nil), 403, "forbidden")
	request("another user's event", "GET", "/v1/events/theirs?user_id=alice", mallory, "", 403, "forbidden")
	request("another user's event id", "GET", "/v1/events/theirs", mallory, "", 404, "not_found")
	request("another user's statement", "GET", "/v1/users/alice/statement", mallory, "", 403, "forbidden")
	request("another user's profile", "PUT", "/v1/users/alice/profile", mallory, `{"display_name":"x"}`, 403,
		"forbidden")
	request("action for another user", "POST", "/v1/actions", mallory, `{"user_id":"alice"}`, 403, "forbidden")
	request("batch without its scope", "POST", "/v1/scores/increments", alice, `{"items":[]}`, 403, "forbidden")
	request("path as user id", "GET", "/v1/users/..%2f..%2fadmin%2fkeys/score", alice, "", 400,
		"invalid_request")
	request("path with ..", "GET", "/v1/users/../admin/keys", alice, "", 404, "not_found")
	request("SQL in a board", "GET", "/v1/leaderboard/top?board=%27%3B+drop+table+boards%3B--", alice, "", 400,
		"invalid_request")
	request("SQL in a cursor", "GET", "/v1/leaderboard/top?cursor=%27or%201=1", alice, "", 400, "invalid_request")
	request("NUL in a parameter", "GET", "/v1/leaderboard/top?board=%00", alice, "", 400, "invalid_request")
	request("unknown parameter", "GET", "/v1/leaderboard/top?user_id=bob", alice, "", 400, "invalid_request")
	request("repeated parameter", "GET", "/v1/leaderboard/top?board=global&board=staff", alice, "", 400,
		"invalid_request")
	request("null for a value", "POST", "/v1/actions", alice, `{"board":null}`, 400, "invalid_request")
	request("operators' route", "GET", "/v1/admin/audit", alice, "", 403, "forbidden")
	return attacks
}

// leakedKey returns the attacks with a server's token, and with the secret of a key
// that may sign for few users and small deltas only.
func (s *attackSuite) leakedKey(limited client.Key) (attacks requests) {
	server, request := s.p.good("game", auth.ScopeUpdate), attacks.add
	with := func(edit func(*wire.IncrementRequest)) string {
		return s.signed(func(r *wire.IncrementRequest) {
			r.UserID, r.Delta, r.KeyID = "npc-1", 1, limited.KeyID
			edit(r)
			r.Signature = wire.Sign(limited.Secret, r.FieldText())
		})
	}
	request("user of another prefix", "POST", increment, server,
		with(func(r *wire.IncrementRequest) { r.UserID = "alice" }), 403, "forbidden")
	request("delta above the key's", "POST", increment, server,
		with(func(r *wire.IncrementRequest) { r.Delta = 2 }), 422, "delta_out_of_range")
	request("statement with score:update", "GET", "/v1/users/alice/statement", server, "", 403, "forbidden")
	request("key creation with score:update", "POST", "/v1/admin/keys", server, `{"name":"mine"}`, 403, "forbidden")
	return attacks
}

// operator returns the requests of an operator that must not have the effect that they
// seem to have.
func (s *attackSuite) operator() (attacks requests) {
	root, request := s.p.good("root", auth.ScopeAdmin), attacks.add
	request("misspelled parameter", "POST", "/v1/boards/global/freeze?reson=x", root, "", 400, "invalid_request")
	request("chosen secret of a key", "POST", "/v1/admin/keys", root, `{"name":"x","secret":"sk_mine"}`, 400,
		"invalid_request")
	request("duplicate key name", "POST", "/v1/admin/keys", root, `{"name":"x","name":"y"}`, 400, "invalid_request")
	request("key name in upper case", "POST", "/v1/admin/keys", root, `{"NAME":"x"}`, 400, "invalid_request")
	request("token of the development issuer", "POST", "/v1/admin/tokens", root, `{"user_id":"alice"}`, 404,
		"not_found")
	return attacks
}

// foreignPage returns the attempts of other sites' pages to open a stream.
func (s *attackSuite) foreignPage() (attacks []attack) {
	upgrade := map[string]string{
		"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13",
		"Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
	}
	for name, origin := range map[string]string{
		"foreign": "https://evil.example", "longer": "https://game.example.evil.example", "null": "null",
		"other scheme": "http://game.example", "other port": "https://game.example:8443",
		"subdomain": "https://a.game.example",
	} {
		with := map[string]string{"Origin": origin}
		for k, v := range upgrade {
			with[k] = v
		}
		attacks = append(attacks, attack{
			name: "WebSocket origin: " + name, method: "GET", path: "/v1/realtime/leaderboard", token: s.alice,
			header: with, status: 403, code: "forbidden",
		})
	}
	return attacks
}
