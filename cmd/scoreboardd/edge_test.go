package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"gopkg.in/yaml.v3"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/server/config"
	"github.com/scoreboard/scoreboard/server/http/auth"
)

// ingressAsNginx is a configuration with the paths of the chart's ingress, each as a prefix of whole
// elements, and the daemon of each component.
func ingressAsNginx(t *testing.T, addr string, components map[string]*daemon) string {
	t.Helper()
	text, err := os.ReadFile("../../deploy/chart/values-large.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var values struct {
		Ingress struct {
			Paths []struct{ Path, Component string }
		}
	}
	if err := yaml.Unmarshal(text, &values); err != nil || len(values.Ingress.Paths) < 3 {
		t.Fatalf("got the paths %v, %v", values.Ingress.Paths, err)
	}
	var conf strings.Builder
	fmt.Fprintf(&conf, "map $http_upgrade $connection_header { default upgrade; '' ''; }\nserver {\nlisten %s;\n", addr)
	conf.WriteString("proxy_http_version 1.1;\nproxy_buffering off;\nproxy_set_header Host $host;\n" +
		"proxy_set_header Upgrade $http_upgrade;\nproxy_set_header Connection $connection_header;\n")
	for _, p := range values.Ingress.Paths {
		d := components[p.Component]
		if d == nil {
			t.Fatalf("no daemon is the component %s", p.Component)
		}
		for _, location := range []string{"= " + p.Path, strings.TrimSuffix(p.Path, "/") + "/"} {
			if location != "= /" {
				fmt.Fprintf(&conf, "location %s { proxy_pass %s; }\n", location, d.url)
			}
		}
	}
	return conf.String() + "}\n"
}

// Behind each shipped edge, nodes of split roles serve all streams, their tokens, reads and writes.
func TestEdgesRouteStreamsToGateways(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	settings := []string{
		"--dialects", strings.Join(config.DialectNames, ","), "--web-boards", "*", "--reads-anonymous=true",
		"--trusted-proxies", "127.0.0.1", "--dialect-highscore-action-min", "0s",
	}
	start := func(roles string) *daemon { return h.start(append([]string{"--roles", roles}, settings...)...) }
	api, read, gateway := start("api,intake,relay,projector,maintenance"), start("read"), start("gateway")
	shipped, _ := startNginxBefore(t, api, gateway)
	ingress := freeAddr(t)
	runNginx(t, ingress, ingressAsNginx(t, ingress, map[string]*daemon{"api": api, "read": read, "gateway": gateway}))

	server := h.client(api, "game", auth.ScopeUpdate+" "+auth.ScopeAdmin)
	if _, err := server.Submit(t.Context(), client.Increment{User: "ada", Delta: 5}); err != nil {
		t.Fatal(err)
	}
	token := h.token("ada", "")
	for name, edge := range map[string]string{"nginx": shipped, "ingress": ingress} {
		t.Run(name, func(t *testing.T) {
			ask := func(method, path, body string) (int, string) {
				t.Helper()
				to := "http://" + edge + path
				req, err := http.NewRequestWithContext(t.Context(), method, to, strings.NewReader(body))
				if err != nil {
					t.Fatal(err)
				}
				req.Header.Set("Authorization", "Bearer "+token)
				req.Header.Set("Content-Type", "application/json")
				res, err := http.DefaultTransport.RoundTrip(req)
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = res.Body.Close() }()
				first := make([]byte, 4<<10)
				n, _ := res.Body.Read(first)
				return res.StatusCode, string(first[:n])
			}
			// A write, so that the board of plain has rows, and reads of each role.
			if status, body := ask(http.MethodPost, "/scores", `{"score":7}`); status != http.StatusOK {
				t.Fatalf("a write: got %d %s", status, body)
			}
			for _, path := range []string{
				"/v1/leaderboard/top", "/v1/leaderboard", "/leaderboard/top", "/delta/v1/leaderboard/top", "/b/global",
				"/b/global/top", "/openapi.json", "/v1/realtime/token?board=global",
			} {
				if status, body := ask(http.MethodGet, path, ""); status != http.StatusOK {
					t.Errorf("%s: got %d %.200s", path, status, body)
				}
			}
			status, body := ask(http.MethodPost, "/delta/v1/leaderboard/ws-token", "")
			var ticket struct{ Token string }
			if err := json.Unmarshal([]byte(body), &ticket); err != nil || status != http.StatusOK {
				t.Fatalf("ws-token: got %d %s, %v", status, body, err)
			}
			for path, want := range map[string]string{
				"/v1/realtime/leaderboard":                       "leaderboard.updated",
				"/v1/ws/leaderboard?token=" + token:              "LEADERBOARD_UPDATE",
				"/delta/v1/leaderboard/ws?token=" + ticket.Token: "leaderboard_update",
			} {
				header := http.Header{"Authorization": {"Bearer " + token}}
				ws, res, err := websocket.DefaultDialer.DialContext(t.Context(), "ws://"+edge+path, header)
				if err != nil {
					t.Errorf("%s: %v", path, err)
					continue
				}
				_ = res.Body.Close()
				_ = ws.SetReadDeadline(time.Now().Add(20 * time.Second))
				if _, frame, err := ws.ReadMessage(); err != nil || !strings.Contains(string(frame), want) {
					t.Errorf("%s: got %s, %v, want %s", path, frame, err, want)
				}
				_ = ws.Close()
			}
			for path, want := range map[string]string{
				"/leaderboard/stream": "event: leaderboard", "/v1/realtime/pages/global": "event: leaderboard.updated",
				"/v1/realtime/leaderboard": "event: leaderboard.updated",
			} {
				req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+edge+path, http.NoBody)
				if err != nil {
					t.Fatal(err)
				}
				req.Header.Set("Authorization", "Bearer "+token)
				req.Header.Set("Accept", "text/event-stream")
				res, err := http.DefaultTransport.RoundTrip(req)
				if err != nil {
					t.Fatal(err)
				}
				lines := bufio.NewScanner(res.Body)
				found := false
				timeout := time.AfterFunc(20*time.Second, func() { _ = res.Body.Close() })
				var seen []string
				for !found && lines.Scan() {
					seen, found = append(seen, lines.Text()), strings.HasPrefix(lines.Text(), want)
				}
				timeout.Stop()
				if !found {
					t.Errorf("%s: got %d %q, want %q", path, res.StatusCode, seen, want)
				}
				_ = res.Body.Close()
			}
			// A long poll on a node without the role gateway.
			var top struct{ Version, Epoch json.Number }
			_, body = ask(http.MethodGet, "/v1/leaderboard/top?board=plain", "")
			if err := json.Unmarshal([]byte(body), &top); err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			status, _ = ask(http.MethodGet, "/v1/leaderboard/top?board=plain&wait=1s&after="+top.Epoch.String()+":"+
				top.Version.String(), "")
			if took := time.Since(began); status == http.StatusNotModified && took < 900*time.Millisecond {
				t.Errorf("a long poll: got %d after %s", status, took)
			}
		})
	}
}

// Floods from one address end at the proxy, with the body of the daemon's own limits. An address that the
// configuration exempts has no limit.
func TestProxyLimitsAddresses(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	proxy, _ := startNginx(t, h.start("--trusted-proxies", "127.0.0.1"))
	if flood(t, proxy, "127.2.0.8") == 0 {
		t.Error("600 requests at once passed, want some rejected beyond 200 and 100 a second")
	}
	if limited := flood(t, proxy, gameServer); limited != 0 {
		t.Errorf("%d of 600 requests of an exempt address were rejected", limited)
	}
}

// flood sends 600 requests from an address, and returns how many were rejected.
func flood(t *testing.T, proxy, from string) (limited int) {
	t.Helper()
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	transport := &http.Transport{DialContext: dialer.DialContext}
	defer transport.CloseIdleConnections()
	for range 600 {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+proxy+"/healthz", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		res, err := transport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		var e struct {
			Code string `json:"error_code"`
		}
		err = json.NewDecoder(res.Body).Decode(&e)
		_ = res.Body.Close()
		if res.StatusCode != http.StatusTooManyRequests {
			continue
		}
		limited++
		if err != nil || e.Code != "rate_limited" || res.Header.Get("Retry-After") != "1" {
			t.Fatalf("got %+v, %v with %v", e, err, res.Header)
		}
	}
	return limited
}
