package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/http/auth"
)

// Every rejection has the same shape and writes no row.
func TestRejectedWrites(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	d := h.start()
	admin, err := client.New(d.url, client.Options{Token: h.token("root", auth.ScopeAdmin)})
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close()
	key, err := admin.CreateKey(t.Context(), client.KeyRequest{Name: "tests"})
	if err != nil {
		t.Fatal(err)
	}
	revoked, err := admin.CreateKey(t.Context(), client.KeyRequest{Name: "revoked"})
	if err != nil {
		t.Fatal(err)
	}
	if err := admin.RevokeKey(t.Context(), revoked.KeyID); err != nil {
		t.Fatal(err)
	}
	now := time.Now().UTC()
	alice := "Bearer " + h.token("alice", "")
	expired := auth.NewTokens(jwtSecret, "scoreboard-dev", "scoreboard",
		func() time.Time { return now.Add(-2 * time.Hour) })
	old, _, err := expired.Mint("alice", "", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	// signed returns a valid body, edited before it is signed.
	signed := func(edit func(*wire.IncrementRequest)) string {
		r := wire.IncrementRequest{
			UserID: "alice", Delta: 5, EventID: "e1", Timestamp: now.Format(time.RFC3339),
			KeyID: key.KeyID,
		}
		secret := key.Secret
		edit(&r)
		if r.KeyID == revoked.KeyID {
			secret = revoked.Secret
		}
		if r.Signature == "" {
			r.Signature = wire.Sign(secret, r.FieldText())
		}
		b, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	same := func(*wire.IncrementRequest) {}
	// raw replaces the delta in the text of a valid body.
	raw := func(delta string) string { return strings.Replace(signed(same), `"delta":5`, `"delta":`+delta, 1) }

	cases := []struct {
		name, body, bearer string
		status             int
		code               string
	}{
		{"malformed JSON", `{"user_id":"alice"`, alice, 400, "invalid_request"},
		{"not JSON", `hello`, alice, 400, "invalid_request"},
		{"duplicate field", strings.Replace(signed(same), `{`, `{"delta":6,`, 1), alice, 400, "invalid_request"},
		{"unknown field", strings.Replace(signed(same), `{`, `{"score":6,`, 1), alice, 400, "invalid_request"},
		{"delta 0", signed(func(r *wire.IncrementRequest) { r.Delta = 0 }), alice, 400, "invalid_request"},
		{"no delta", withoutDelta.ReplaceAllString(signed(same), ""), alice, 400, "invalid_request"},
		{"delta 1.5", raw("1.5"), alice, 400, "invalid_request"},
		{"delta 15e-1", raw("15e-1"), alice, 400, "invalid_request"},
		{"delta as text", raw(`"5"`), alice, 400, "invalid_request"},
		{"delta beyond 2^53", raw("9007199254740992"), alice, 422, "delta_out_of_range"},
		{
			"delta over board maximum", signed(func(r *wire.IncrementRequest) { r.Delta = 1_000_001 }), alice, 422,
			"delta_out_of_range",
		},
		{
			"delta over action maximum", signed(func(r *wire.IncrementRequest) { r.Action = "kill" }), alice, 422,
			"delta_out_of_range",
		},
		{
			"negative delta", signed(func(r *wire.IncrementRequest) { r.Delta = -5 }), alice, 422,
			"delta_out_of_range",
		},
		{"empty user", signed(func(r *wire.IncrementRequest) { r.UserID = "" }), alice, 400, "invalid_request"},
		{
			"user too long",
			signed(func(r *wire.IncrementRequest) { r.UserID = strings.Repeat("a", 65) }),
			alice,
			400,
			"invalid_request",
		},
		{
			"user with |", signed(func(r *wire.IncrementRequest) { r.UserID = "al|ice" }), alice, 400,
			"invalid_request",
		},
		{
			"event with |", signed(func(r *wire.IncrementRequest) { r.EventID = "e|1" }), alice, 400,
			"invalid_request",
		},
		{"no event", signed(func(r *wire.IncrementRequest) { r.EventID = "" }), alice, 400, "invalid_request"},
		{
			"no timestamp", signed(func(r *wire.IncrementRequest) { r.Timestamp = "" }), alice, 400,
			"invalid_request",
		},
		{
			"Unix timestamp", signed(func(r *wire.IncrementRequest) { r.Timestamp = "1795262400" }), alice,
			400, "invalid_request",
		},
		{
			"wrong signature", signed(func(r *wire.IncrementRequest) { r.Signature = strings.Repeat("00", 32) }),
			alice, 401, "invalid_signature",
		},
		{
			"no signature", strings.Replace(signed(same), `"signature"`, `"attestation"`, 1), alice, 401,
			"invalid_signature",
		},
		{"changed delta", raw("6"), alice, 401, "invalid_signature"},
		{
			"unknown key", signed(func(r *wire.IncrementRequest) { r.KeyID = "../../etc/passwd" }), alice, 401,
			"invalid_signature",
		},
		{
			"revoked key", signed(func(r *wire.IncrementRequest) { r.KeyID = revoked.KeyID }), alice, 401,
			"invalid_signature",
		},
		{
			"old signature",
			signed(func(r *wire.IncrementRequest) { r.Timestamp = now.Add(-2 * time.Minute).Format(time.RFC3339) }),
			alice,
			401,
			"invalid_signature",
		},
		{"no token", signed(same), "", 401, "unauthorized"},
		{"expired token", signed(same), "Bearer " + old, 401, "unauthorized"},
		{"basic auth", signed(same), "Basic YTpi", 401, "unauthorized"},
		{"another user's token", signed(same), "Bearer " + h.token("mallory", ""), 403, "forbidden"},
		{"body of a megabyte", `{"user_id":"` + strings.Repeat("a", 1<<20) + `"}`, alice, 413, "payload_too_large"},
		{"unknown board", signed(func(r *wire.IncrementRequest) { r.Board = "nowhere" }), alice, 404, "not_found"},
		{
			"malformed board", signed(func(r *wire.IncrementRequest) { r.Board = "No Where" }), alice, 400,
			"invalid_request",
		},
		{
			"board instance",
			signed(func(r *wire.IncrementRequest) { r.Board = "daily:2026-11-21" }),
			alice,
			400,
			"invalid_request",
		},
		{"board and boards", signed(func(r *wire.IncrementRequest) {
			r.Board, r.Boards = "global",
				[]string{"global"}
		}), alice, 400, "invalid_request"},
		{
			"duplicate board",
			signed(func(r *wire.IncrementRequest) { r.Boards = []string{"global", "global"} }),
			alice,
			400,
			"invalid_request",
		},
	}
	const rows = `select (select count(*) from users) + (select count(*) from scores)
	+ (select count(*) from user_score_histories)
+ (select count(*) from outbox_score_updates)`
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			status, header, e := post(t, d.url+"/v1/scores/increment", c.bearer, "application/json", c.body)
			if status != c.status || e.ErrorCode != c.code || e.Message == "" {
				t.Errorf("got %d %+v, want %d %s", status, e, c.status, c.code)
			}
			if e.RequestID == "" || e.RequestID != header.Get("X-Request-Id") || len(header.Get("traceparent")) != 55 {
				t.Errorf("request id %q, headers %v", e.RequestID, header)
			}
		})
	}
	if status, _, e := post(t, d.url+"/v1/scores/increment", alice, "text/plain", signed(same)); status != 415 ||
		e.ErrorCode != "unsupported_media_type" {
		t.Errorf("another media type: got %d %+v", status, e)
	}
	for path, want := range map[string]int{"/v1/nothing": 404, "/v1/leaderboard/top": 405} {
		if status, _, e := post(t, d.url+path, alice, "application/json", "{}"); status != want || e.ErrorCode == "" {
			t.Errorf("POST %s: got %d %+v, want %d", path, status, e, want)
		}
	}
	if n := h.sql(rows); n != 0 {
		t.Errorf("the rejected requests wrote %d rows", n)
	}
	if status, _, e := post(t, d.url+"/v1/scores/increment", alice, "application/json", signed(same)); status != 200 {
		t.Errorf("the valid request: got %d %+v", status, e)
	}
	if n := h.sql(rows); n != 4 {
		t.Errorf("the valid request wrote %d rows, want 4", n)
	}
}

func post(t *testing.T, url, bearer, media, body string) (int, http.Header, wire.Error) {
	t.Helper()
	status, header, e, err := postBy(t, http.DefaultClient, url, bearer, media, body)
	if err != nil {
		t.Fatal(err)
	}
	return status, header, e
}

// postBy posts with a client whose connection may fail.
func postBy(t *testing.T, by *http.Client, url, bearer, media, body string) (int, http.Header, wire.Error, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, bytes.NewReader([]byte(body)))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", media)
	if bearer != "" {
		req.Header.Set("Authorization", bearer)
	}
	resp, err := by.Do(req)
	if err != nil {
		return 0, nil, wire.Error{}, err
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	var e wire.Error
	if resp.StatusCode != http.StatusOK {
		if media := resp.Header.Get("Content-Type"); media != "application/json" {
			t.Errorf("got an error with media type %s", media)
		}
		d := json.NewDecoder(bytes.NewReader(b))
		d.DisallowUnknownFields()
		if err := d.Decode(&e); err != nil {
			t.Error(fmt.Errorf("error body %q: %w", b, err))
		}
	}
	return resp.StatusCode, resp.Header, e, nil
}

var withoutDelta = regexp.MustCompile(`"delta":-?\d+,`)

func TestRejectedReads(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	d := h.start()
	for path, want := range map[string]int{
		"/v1/leaderboard/top?limit=0": 400, "/v1/leaderboard/top?limit=-1": 400, "/v1/leaderboard/top?limit=101": 400,
		"/v1/leaderboard/top?limit=ten": 400, "/v1/leaderboard/me?k=-1": 400, "/v1/leaderboard/me?k=51": 400,
		"/v1/leaderboard/top?board=nowhere": 404, "/v1/leaderboard/top?board=No": 400, "/v1/leaderboard/me": 404,
		"/v1/users/bob/rank": 404, "/v1/users/b%7Cob/score": 400, "/v1/events/e1": 404,
		"/v1/events/e1?user_id=bob": 403,
		"/v1/admin/keys":            403, "/v1/admin/nothing": 404,
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, d.url+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+h.token("alice", ""))
		var resp *http.Response
		for range 100 { // look-ups of events are unavailable until the intake consumes
			if resp, err = http.DefaultClient.Do(req); err != nil {
				t.Fatal(err)
			}
			if resp.StatusCode != http.StatusServiceUnavailable {
				break
			}
			if err := resp.Body.Close(); err != nil {
				t.Error(err)
			}
			time.Sleep(100 * time.Millisecond)
		}
		var e wire.Error
		if err := json.NewDecoder(resp.Body).Decode(&e); err != nil || e.ErrorCode == "" {
			t.Errorf("%s: the body: %v, %+v", path, err, e)
		}
		if err := resp.Body.Close(); err != nil {
			t.Error(err)
		}
		if resp.StatusCode != want {
			t.Errorf("%s: got %d %+v, want %d", path, resp.StatusCode, e, want)
		}
	}
}
