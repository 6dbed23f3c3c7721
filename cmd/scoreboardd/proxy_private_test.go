package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/http/auth"
)

// A proxy keeps no answer that is not for everyone, shows what changed within seconds, and passes
// streams at once.
func TestProxyPassesPrivateReadsAndStreams(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	d := h.start("--web-boards", "global", "--reads-anonymous=true", "--trusted-proxies", "127.0.0.1",
		"--limit-anonymous-per-minute", "0", "--realtime-origins", "https://game.example",
		"--realtime-window", "50ms")
	proxy, cache := startNginx(t, d)
	url := "http://" + proxy
	game := h.client(d, "game", auth.ScopeUpdate)
	submit := func(user string, delta int64) {
		t.Helper()
		if _, err := game.Submit(t.Context(), client.Increment{User: user, Delta: delta}); err != nil {
			t.Fatal(err)
		}
	}
	submit("ada", 5)
	token := h.token("ada", "")
	paths := []string{"/v1/leaderboard/top", "/b/global/top", "/b/global", "/b/global/players/ada"}
	eventually(t, "ada to be ranked", func() error {
		if status, _ := ask(t, d.url+"/b/global/players/ada", ""); status != http.StatusOK {
			return fmt.Errorf("status %d", status)
		}
		return nil
	})
	for _, path := range paths {
		if status, header := ask(t, url+path, token); status != http.StatusOK ||
			!strings.HasPrefix(header.Get("Cache-Control"), "private") {
			t.Errorf("%s with a token: got %d %v", path, status, header)
		}
	}
	if status, _ := ask(t, url+"/v1/leaderboard/top?board=secret", ""); status != http.StatusNotFound {
		t.Errorf("a board that does not exist: got %d, want 404", status)
	}
	if files := cached(t, cache); len(files) != 0 {
		t.Fatalf("the cache has %q, want nothing of requests with a token, and no error", files)
	}
	for _, path := range paths {
		if status, header := ask(t, url+path, ""); status != http.StatusOK || header.Get("X-Request-Id") != "" {
			t.Errorf("%s without a token: got %d %v", path, status, header)
		}
	}
	if files := cached(t, cache); len(files) != len(paths) {
		t.Errorf("the cache has %q, want %d answers", files, len(paths))
	}
	if status, _ := ask(t, url+"/v1/leaderboard/top", "wrong"); status != http.StatusUnauthorized {
		t.Errorf("a wrong token for a cached path: got %d, want 401", status)
	}
	for origin, want := range map[string]string{
		"https://game.example": "https://game.example", "https://evil.example": "", "https://other.example": "",
	} {
		_, header := ask(t, url+"/v1/leaderboard/top", "", "Origin", origin)
		if got := header.Get("Access-Control-Allow-Origin"); got != want {
			t.Errorf("a page of %s may read as %q, want %q", origin, got, want)
		}
	}
	if files := cached(t, cache); len(files) != len(paths)+1 {
		t.Errorf("the cache has %q, want one more for the listed origin only", files)
	}

	t.Run("WebSocket", func(t *testing.T) {
		ws, res, err := websocket.DefaultDialer.DialContext(t.Context(), "ws://"+proxy+"/v1/realtime/leaderboard",
			http.Header{"Authorization": {"Bearer " + token}})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = res.Body.Close() }()
		defer func() { _ = ws.Close() }()
		for {
			var f wire.Message
			if err := errors.Join(ws.SetReadDeadline(time.Now().Add(20*time.Second)), ws.ReadJSON(&f)); err != nil {
				t.Fatal(err)
			}
			if f.Type == wire.MessageUpdated && len(f.Top) > 0 {
				return
			}
		}
	})
	for i, path := range []string{"/v1/realtime/pages/global", "/v1/realtime/leaderboard"} {
		t.Run("events of "+path, func(t *testing.T) {
			const viewers = 5
			for n := range viewers { // beside each other: none may wait for the end of another
				events := openEvents(t, url+path)
				defer func() { _ = events.Close() }()
				lines := bufio.NewScanner(events)
				user := fmt.Sprintf("late-%d-%d", i, n)
				began := time.Now()
				for !strings.HasPrefix(lines.Text(), "data:") && lines.Scan() { //nolint:revive // reads the first state
				}
				submit(user, 7)
				for lines.Scan() && !strings.Contains(lines.Text(), user) { //nolint:revive // reads on
				}
				if err := lines.Err(); err != nil {
					t.Fatalf("%s did not arrive: %v", user, err)
				}
				// A proxy that buffers passes an event with the next ones, or at a ping, 30 s later.
				if took := time.Since(began); took > 10*time.Second {
					t.Errorf("the event of %s took %s", user, took)
				}
			}
		})
	}
	eventually(t, "the cached page to have the new rows", func() error {
		body, err := read(t, url+"/v1/leaderboard/top")
		if err == nil && !strings.Contains(body, "late-1-4") {
			err = errors.New(body)
		}
		return err
	})
}

// cached returns the files of a proxy's cache.
func cached(t *testing.T, dir string) (files []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func openEvents(t *testing.T, url string) io.ReadCloser {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept", "text/event-stream")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if res.StatusCode != http.StatusOK {
		t.Fatal(res.Status)
	}
	return res.Body
}

func read(t *testing.T, url string) (string, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	return string(body), err
}
