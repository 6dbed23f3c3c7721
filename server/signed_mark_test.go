package server_test

import (
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/http/auth"
)

// A byte order mark in front of a body is no part of its JSON, but of the bytes that are sent: a
// signature in the headers covers them. That of a sender whose library adds the mark after it has
// signed counts, too.
func TestSignedBodyWithByteOrderMark(t *testing.T) {
	t.Parallel()
	h, n := conformanceNode(t)
	const mark = "\ufeff"
	send := func(path, body, signed string) (int, string) {
		t.Helper()
		now := strconv.FormatInt(time.Now().Unix(), 10)
		header := bearer(h.token("game", auth.ScopeUpdate, time.Hour))
		header.Set(wire.HeaderKey, defaultKey)
		header.Set(wire.HeaderTimestamp, now)
		header.Set(wire.HeaderSignature, wire.SignatureVersion+wire.Sign(defaultSecret,
			wire.HeaderText(http.MethodPost, path, defaultKey, now, []byte(signed))))
		status, _, answer := request(t, http.MethodPost, n.URL+path, body, header)
		return status, answer
	}
	const one = `{"user_id":"ada","delta":5,"event_id":"e1","timestamp":"2026-11-21T12:00:00Z"}`
	for path, wrap := range map[string]func(string) string{
		"/v1/scores/increment":  func(item string) string { return item },
		"/v1/scores/increments": func(item string) string { return `{"items":[` + item + `]}` },
	} {
		body := wrap(one)
		for _, c := range []struct {
			name, sent, signed string
			want               int
		}{
			{"a mark, signed", mark + body, mark + body, http.StatusOK},
			{"a mark added after the signature", mark + body, body, http.StatusOK},
			{"no mark", body, body, http.StatusOK},
			{"a mark removed after the signature", body, mark + body, http.StatusUnauthorized},
			{"a mark and another body signed", mark + body, mark + body + " ", http.StatusUnauthorized},
			{"two marks", mark + mark + body, mark + mark + body, http.StatusBadRequest},
		} {
			if status, answer := send(path, c.sent, c.signed); status != c.want {
				t.Errorf("%s to %s: got %d %s, want %d", c.name, path, status, answer, c.want)
			}
		}
	}
	if rows := h.entries(t, n, "ada", "global"); rows != 1 {
		t.Errorf("%d rows, want one event", rows)
	}
}
