package api

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/test/fixtures"
	"github.com/scoreboard/scoreboard/server/http/auth"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// slow is a component slower than the server's write timeout.
type slow struct {
	Moderation
	Jobs
	takes time.Duration
}

// noLog keeps no jobs.
type noLog struct{ JobLog }

func (noLog) Start(context.Context, *scoreboard.Job) error { return nil }

func (noLog) Report(context.Context, int64, []byte) (bool, error) { return false, nil }

func (noLog) End(context.Context, int64, string, []byte) error { return nil }

func (s slow) BeginErasure(context.Context, scoreboard.UserID, *scoreboard.AuditEntry) (scoreboard.UserID, error) {
	time.Sleep(s.takes)
	return "erased-x", nil
}

func (s slow) EraseStep(context.Context, scoreboard.UserID, scoreboard.UserID) (int64, error) {
	return 0, nil
}

func (s slow) WaitUntilHidden(context.Context, scoreboard.UserID) (bool, error) { return false, nil }

func (s slow) Boards(context.Context) ([]scoreboard.Board, error) { return nil, nil }

func (s slow) Verify(
	_ context.Context,
	_ []scoreboard.Board,
	_ scoreboard.UserID,
	_, _ bool,
	progress func(int64),
) (*wire.Verified, error) {
	for range 2 {
		time.Sleep(s.takes)
		progress(1)
	}
	return &wire.Verified{Users: 2}, nil
}

// A response to an operator may take longer than the write timeout, over HTTP/1.1
// and HTTP/2.
func TestAdminResponseOutlivesWriteTimeout(t *testing.T) {
	t.Parallel()
	for name, second := range map[string]bool{"HTTP/1.1": false, "HTTP/2.0": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := slow{takes: 25 * time.Second}
				a := New(Options{
					Tokens:     auth.NewTokens("a secret of the tests, long enough for HS256", "iss", "aud", time.Now),
					Moderation: s,
					Operations: &Operations{Jobs: s, JobLog: noLog{}}, Log: slog.New(slog.DiscardHandler),
					Now: time.Now,
				})
				server := httptest.NewUnstartedServer(a)
				_ = server.Listener.Close()
				listener := fixtures.ListenInMemory()
				server.Listener = listener
				server.Config.WriteTimeout = 10 * time.Second
				server.EnableHTTP2 = second
				server.StartTLS()
				server.Client().Transport.(*http.Transport).DialContext = listener.Dial
				defer server.Close()
				for path, want := range map[string]string{
					"/v1/admin/users/alice/erase": `"anonymous":"erased-x"`,
					"/v1/admin/verify":            `"type":"result"`,
				} {
					body := `{"reason":"asked"}`
					if strings.HasSuffix(path, "verify") {
						body = `{"all":true}`
					}
					req, err := http.NewRequestWithContext(
						t.Context(),
						http.MethodPost,
						server.URL+path,
						strings.NewReader(body),
					)
					if err != nil {
						t.Fatal(err)
					}
					req.Header.Set("Authorization", "Bearer "+minted(t, a, "root", auth.ScopeAdmin))
					req.Header.Set("Content-Type", "application/json")
					res, err := server.Client().Do(req)
					if err != nil {
						t.Errorf("%s: %v", path, err)
						continue
					}
					text, err := io.ReadAll(res.Body)
					_ = res.Body.Close()
					if err != nil || res.Proto != name || !strings.Contains(string(text), want) {
						t.Errorf("%s: got %s %q, %v", path, res.Proto, text, err)
					}
				}
			})
		})
	}
}
