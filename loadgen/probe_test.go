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

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/test/instance"
	"github.com/scoreboard/scoreboard/loadgen/verify"
)

func tally(total, rejected uint64) verify.Tally {
	return verify.Tally{Total: total, Rejected: rejected}
}

// changeFunc changes the response to an increment.
type changeFunc func(in *wire.IncrementRequest, status int, body string) (int, string)

// newProber returns a prober with a user of its own, of a server whose responses are
// changed.
func newProber(t *testing.T, correct http.Handler, change changeFunc) *prober {
	t.Helper()
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var in wire.IncrementRequest
		_ = json.Unmarshal(body, &in)
		r.Body = io.NopCloser(bytes.NewReader(body))
		answer := httptest.NewRecorder()
		correct.ServeHTTP(answer, r)
		status, text := change(&in, answer.Code, answer.Body.String())
		if after := answer.Header().Get("Retry-After"); after != "" {
			w.Header().Set("Retry-After", after)
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, text)
	}))
	t.Cleanup(front.Close)
	token := instance.Token("load", "score:update")
	server := Server{URL: front.URL, Token: token, KeyID: instance.KeyID, KeySecret: instance.Secret}
	user := "probe-" + client.NewEventID()
	return &prober{http: front.Client(), server: server, user: user, token: token, expected: map[string]int64{}}
}

func unchanged(_ *wire.IncrementRequest, status int, body string) (int, string) {
	return status, body
}

// on changes the responses to matching increments.
func on(matches func(*wire.IncrementRequest) bool, status int, old, new string) changeFunc {
	return func(in *wire.IncrementRequest, original int, body string) (int, string) {
		if !matches(in) {
			return original, body
		}
		return status, strings.ReplaceAll(body, old, new)
	}
}

// A replay counts as rejected if the response says so and the score did not change.
func TestProbeReplays(t *testing.T) {
	t.Parallel()
	correct := instance.New(t)
	seen := 0
	again := func(in *wire.IncrementRequest) bool {
		seen++
		return in.Delta == 5 && seen > 1
	}
	otherDelta := func(in *wire.IncrementRequest) bool { return in.Delta == 6 }
	for name, c := range map[string]struct {
		change             changeFunc
		replays, conflicts verify.Tally
	}{
		"correct":         {unchanged, tally(3, 3), tally(1, 1)},
		"counts again":    {on(again, 200, `"replayed":true`, `"replayed":false`), tally(3, 0), tally(1, 1)},
		"moves the score": {on(again, 200, `"new_score":5`, `"new_score":10`), tally(3, 0), tally(1, 1)},
		"returns another event": {
			on(again, 200, `"processed_event_id":"`, `"processed_event_id":"x`), tally(3, 0), tally(1, 1),
		},
		"rejects a safe retry":  {on(again, 409, "", ""), tally(3, 0), tally(1, 1)},
		"accepts another delta": {on(otherDelta, 200, "", ""), tally(3, 3), tally(1, 0)},
	} {
		var replays, conflicts verify.Tally
		seen = 0
		p := newProber(t, correct, c.change)
		if err := p.replays(t.Context(), &replays, &conflicts); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if replays != c.replays || conflicts != c.conflicts || p.expected[p.user] != 5 {
			t.Errorf("%s: got replays %v, conflicts %v, score %d", name, replays, conflicts, p.expected[p.user])
		}
	}
}

// Every invalid signature must be rejected with a 401.
func TestProbeSignatures(t *testing.T) {
	t.Parallel()
	correct := instance.New(t, "limit-auth-failures-per-minute", "0")
	age := func(in *wire.IncrementRequest) time.Duration {
		at, _ := time.Parse(time.RFC3339, in.Timestamp)
		return time.Since(at)
	}
	for name, matches := range map[string]func(*wire.IncrementRequest) bool{
		"old": func(in *wire.IncrementRequest) bool {
			return in.Timestamp != "" && age(in) > time.Minute
		},
		"from the future": func(in *wire.IncrementRequest) bool { return age(in) < -time.Minute },
		"no such key":     func(in *wire.IncrementRequest) bool { return in.KeyID == "no-such-key" },
		"no signature":    func(in *wire.IncrementRequest) bool { return in.Signature == "" },
		"another secret": func(in *wire.IncrementRequest) bool {
			return in.KeyID == instance.KeyID && age(in).Abs() < time.Minute &&
				wire.Sign(instance.Secret, in.FieldText()) != in.Signature
		},
	} {
		for _, c := range []struct {
			status, rejected int
			score            int64
		}{{200, 4, 7}, {403, 5, 0}, {500, 5, 0}} {
			p, got := newProber(t, correct, on(matches, c.status, "", "")), verify.Tally{}
			if err := p.signatures(t.Context(), &got); err != nil {
				t.Fatal(err)
			}
			if got != tally(5, 4) || len(p.rejected) != c.rejected || p.expected[p.user] != c.score {
				t.Errorf("%s with status %d: got %v, %d rejected, score %d",
					name, c.status, got, len(p.rejected), p.expected[p.user])
			}
		}
	}
	p, got := newProber(t, correct, unchanged), verify.Tally{}
	if err := p.signatures(t.Context(), &got); err != nil || got != tally(5, 5) || len(p.rejected) != 5 {
		t.Errorf("unchanged: got %v, %v", got, err)
	}
}

// A rate limit must say when to retry.
func TestProbeLimits(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status   int
		after    string
		enforced bool
	}{
		"limited":        {429, "6", true},
		"without a time": {429, "", false},
		"accepted":       {200, "", false},
		"forbidden":      {403, "", false},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if c.after != "" {
				w.Header().Set("Retry-After", c.after)
			}
			w.WriteHeader(c.status)
		}))
		p := &prober{
			http:     server.Client(),
			server:   Server{URL: server.URL},
			token:    "load",
			expected: map[string]int64{},
		}
		if got, err := p.limits(t.Context(), "player", "player's token"); err != nil || got != c.enforced {
			t.Errorf("%s: got %v, %v", name, got, err)
		}
		server.Close()
	}
}
