package loadgen

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client/clienttest"
	"github.com/scoreboard/scoreboard/server/protocol"
)

// probed is a prober of a server that changes some of its answers.
func probed(t *testing.T, lie func(in *protocol.IncrementRequest, status int, body string) (int, string)) *prober {
	t.Helper()
	honest := newLiar(t, &liar{})
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var in protocol.IncrementRequest
		_ = json.Unmarshal(body, &in)
		r.Body = io.NopCloser(bytes.NewReader(body))
		answer := httptest.NewRecorder()
		honest.ServeHTTP(answer, r)
		status, text := lie(&in, answer.Code, answer.Body.String())
		if after := answer.Header().Get("Retry-After"); after != "" {
			w.Header().Set("Retry-After", after)
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, text)
	}))
	t.Cleanup(front.Close)
	token := clienttest.Token("load", "score:update")
	server := Server{URL: front.URL, Token: token, KeyID: clienttest.KeyID, KeySecret: clienttest.Secret}
	return &prober{http: front.Client(), server: server, user: "probe", token: token, expected: map[string]int64{}}
}

func honestly(_ *protocol.IncrementRequest, status int, body string) (int, string) {
	return status, body
}

// on lies where an increment is so, and is honest else.
func on(is func(*protocol.IncrementRequest) bool, status int, old, new string) func(*protocol.IncrementRequest, int, string) (int, string) {
	return func(in *protocol.IncrementRequest, honest int, body string) (int, string) {
		if !is(in) {
			return honest, body
		}
		return status, strings.ReplaceAll(body, old, new)
	}
}

// A replay is rejected where it says so and the score did not move.
func TestReplaysAreProbed(t *testing.T) {
	t.Parallel()
	seen := 0
	again := func(in *protocol.IncrementRequest) bool {
		seen++
		return in.Delta == 5 && seen > 1
	}
	for name, c := range map[string]struct {
		lie                func(*protocol.IncrementRequest, int, string) (int, string)
		replays, conflicts tally
	}{
		"honest":                  {honestly, tally{3, 3}, tally{1, 1}},
		"counts again":            {on(again, 200, `"replayed":true`, `"replayed":false`), tally{3, 0}, tally{1, 1}},
		"moves the score":         {on(again, 200, `"new_score":5`, `"new_score":10`), tally{3, 0}, tally{1, 1}},
		"tells of another event":  {on(again, 200, `"processed_event_id":"`, `"processed_event_id":"x`), tally{3, 0}, tally{1, 1}},
		"refuses a safe retry":    {on(again, 409, "", ""), tally{3, 0}, tally{1, 1}},
		"takes another increment": {on(func(in *protocol.IncrementRequest) bool { return in.Delta == 6 }, 200, "", ""), tally{3, 3}, tally{1, 0}},
	} {
		var replays, conflicts tally
		seen = 0
		p := probed(t, c.lie)
		if err := p.replays(t.Context(), &replays, &conflicts); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if replays != c.replays || conflicts != c.conflicts || p.expected["probe"] != 5 {
			t.Errorf("%s: got replays %v, conflicts %v, the score %d", name, replays, conflicts, p.expected["probe"])
		}
	}
}

// Each signature that does not hold must be refused, and as such.
func TestSignaturesAreProbed(t *testing.T) {
	t.Parallel()
	signed := func(in *protocol.IncrementRequest) time.Duration {
		at, _ := time.Parse(time.RFC3339, in.Timestamp)
		return time.Since(at)
	}
	for name, is := range map[string]func(*protocol.IncrementRequest) bool{
		"old":             func(in *protocol.IncrementRequest) bool { return in.Timestamp != "" && signed(in) > time.Minute },
		"from the future": func(in *protocol.IncrementRequest) bool { return signed(in) < -time.Minute },
		"no such key":     func(in *protocol.IncrementRequest) bool { return in.KeyID == "no-such-key" },
		"no signature":    func(in *protocol.IncrementRequest) bool { return in.Signature == "" },
		"another secret": func(in *protocol.IncrementRequest) bool {
			return in.KeyID == clienttest.KeyID && signed(in).Abs() < time.Minute && protocol.Sign(clienttest.Secret, in.FieldText()) != in.Signature
		},
	} {
		for _, c := range []struct {
			status, refused int
			score           int64
		}{{200, 4, 7}, {403, 5, 0}, {500, 5, 0}} {
			p, got := probed(t, on(is, c.status, "", "")), tally{}
			if err := p.signatures(t.Context(), &got); err != nil {
				t.Fatal(err)
			}
			if got != (tally{5, 4}) || len(p.refused) != c.refused || p.expected["probe"] != c.score {
				t.Errorf("%s answered %d: got %v, %d refused, the score %d", name, c.status, got, len(p.refused), p.expected["probe"])
			}
		}
	}
	p, got := probed(t, honestly), tally{}
	if err := p.signatures(t.Context(), &got); err != nil || got != (tally{5, 5}) || len(p.refused) != 5 {
		t.Errorf("honest: got %v, %v", got, err)
	}
}

// A limit tells its player when to come again.
func TestLimitsAreProbed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status   int
		after    string
		enforced bool
	}{
		"limited":            {429, "6", true},
		"without a time":     {429, "", false},
		"taken":              {200, "", false},
		"refused altogether": {403, "", false},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if c.after != "" {
				w.Header().Set("Retry-After", c.after)
			}
			w.WriteHeader(c.status)
		}))
		p := &prober{http: server.Client(), server: Server{URL: server.URL}, token: "load", expected: map[string]int64{}}
		if got, err := p.limits(t.Context(), "player", "its token"); err != nil || got != c.enforced {
			t.Errorf("%s: got %v, %v", name, got, err)
		}
		server.Close()
	}
}
