package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/server/devstack/process"
	"github.com/scoreboard/scoreboard/server/http/auth"
)

const nginxMain = `daemon off;
master_process off;
pid %[1]s/nginx.pid;
error_log stderr;
worker_rlimit_nofile 20000;
events { worker_connections 19000; }
http {
	access_log off;
	client_body_temp_path %[1]s/body;
	proxy_temp_path %[1]s/proxy;
	fastcgi_temp_path %[1]s/fastcgi;
	uwsgi_temp_path %[1]s/uwsgi;
	scgi_temp_path %[1]s/scgi;
	keepalive_requests 100000;
	include %[1]s/scoreboard.conf;
}
`

// gameServer is an address without limits in these tests.
const gameServer = "127.2.0.7"

// startNginx starts nginx with the configuration of deploy/nginx before a daemon, and returns its
// address and the folder of its cache.
func startNginx(t *testing.T, d *daemon) (addr, cache string) { return startNginxBefore(t, d, d) }

// startNginxBefore is startNginx for a daemon that reads and writes, and one with the role gateway.
func startNginxBefore(t *testing.T, d, gateway *daemon) (addr, cache string) {
	t.Helper()
	shipped, err := os.ReadFile("../../deploy/nginx/scoreboard.conf")
	if err != nil {
		t.Fatal(err)
	}
	addr, cache = freeAddr(t), filepath.Join(t.TempDir(), "cache")
	host := func(d *daemon) string { return strings.TrimPrefix(d.url, "http://") }
	conf := string(shipped)
	for _, change := range [][2]string{
		{"upstream scoreboard {\n    server 127.0.0.1:8080;", "upstream scoreboard {\n    server " + host(d) + ";"},
		{
			"upstream scoreboard_gateway {\n    server 127.0.0.1:8080;",
			"upstream scoreboard_gateway {\n    server " + host(gateway) + ";",
		},
		{"/var/cache/nginx/scoreboard", cache},
		{"listen 80;", "listen " + addr + ";"},
		{`# https://game.example $http_origin;`, `https://game.example $http_origin;`},
		{`# 203.0.113.7 0;`, gameServer + ` 0;`},
	} {
		if strings.Count(conf, change[0]) != 1 {
			t.Fatalf("the configuration has no or several %q", change[0])
		}
		conf = strings.Replace(conf, change[0], change[1], 1)
	}
	runNginx(t, addr, conf)
	return addr, cache
}

// runNginx runs nginx with a part of the http block that listens on an address.
func runNginx(t *testing.T, addr, conf string) {
	t.Helper()
	path, dir := backends.Program(t, "nginx"), t.TempDir()
	err := errors.Join(
		os.WriteFile(filepath.Join(dir, "nginx.conf"), fmt.Appendf(nil, nginxMain, dir), 0o600),
		os.WriteFile(filepath.Join(dir, "scoreboard.conf"), []byte(conf), 0o600),
	)
	if err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(dir, "nginx.log")
	p, err := process.Start(t.Context(), process.Options{
		Name: "nginx", Path: path, Args: []string{"-p", dir, "-c", filepath.Join(dir, "nginx.conf")},
		Env: os.Environ(), Dir: dir, Log: log, Signal: syscall.SIGTERM,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := contextFor(10 * time.Second)
		defer cancel()
		if err := p.Stop(ctx); err != nil {
			t.Errorf("stop nginx: %v", err)
		}
		if b, err := os.ReadFile(log); err != nil || t.Failed() {
			t.Logf("log of nginx: %s %v", b, err)
		}
	})
	err = p.AwaitReady(t.Context(), func(ctx context.Context) error {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
		if err != nil {
			return err
		}
		return conn.Close()
	})
	if err != nil {
		t.Fatal(err)
	}
}

// poller is a client with an address and a connection of its own.
type poller struct {
	request []byte
	conn    net.Conn
	from    *bufio.Reader
}

func newPoller(ctx context.Context, proxy, path string, number int) (*poller, error) {
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 1, byte(number>>8), byte(number))}}
	conn, err := d.DialContext(ctx, "tcp", proxy)
	if err != nil {
		return nil, err
	}
	request := fmt.Sprintf("GET %s HTTP/1.1\r\nHost: scores.example\r\n\r\n", path)
	return &poller{request: []byte(request), conn: conn, from: bufio.NewReaderSize(conn, 2048)}, nil
}

// poll reads the path once.
func (p *poller) poll() error {
	if err := p.conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		return err
	}
	if _, err := p.conn.Write(p.request); err != nil {
		return err
	}
	res, err := http.ReadResponse(p.from, nil)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	if _, err := io.Copy(io.Discard, res.Body); err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK {
		return errors.New(res.Status)
	}
	return nil
}

// served returns how many requests of a route the daemon has answered.
func (d *daemon) served(route string) (n int) {
	d.t.Helper()
	text, err := d.metrics()
	if err != nil {
		d.t.Fatal(err)
	}
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "scoreboard_api_request_seconds_count{") || !strings.Contains(line, `"`+route+`"`) {
			continue
		}
		value := strings.TrimSpace(line[strings.LastIndexByte(line, ' '):])
		count, err := strconv.ParseFloat(value, 64)
		if err != nil {
			d.t.Fatalf("%s: %v", line, err)
		}
		n += int(count)
	}
	return n
}

// Behind a caching proxy, clients that poll once a second cost the daemon about a read a second, each
// with an address and a connection of its own: 500, or 10,000 with SCOREBOARD_PROOF=1.
func TestProxyCache(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	d := h.start("--web-boards", "global", "--reads-anonymous=true", "--trusted-proxies", "127.0.0.1",
		"--realtime-origins", "https://game.example")
	proxy, _ := startNginx(t, d)
	game := h.client(d, "game", auth.ScopeUpdate)
	if _, err := game.Submit(t.Context(), client.Increment{User: "ada", Delta: 5}); err != nil {
		t.Fatal(err)
	}
	clients, duration := 500, 4*time.Second
	if os.Getenv("SCOREBOARD_PROOF") == "1" {
		clients, duration = 10_000, 20*time.Second
	}
	for path, route := range map[string]string{
		"/v1/leaderboard/top?limit=10": "/v1/leaderboard/top",
		"/b/global/top":                "/b/:board/top",
		"/b/global":                    "/b/:board",
	} {
		t.Run(route, func(t *testing.T) {
			pollers := make([]*poller, clients)
			for i := range pollers {
				p, err := newPoller(t.Context(), proxy, path, i)
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = p.conn.Close() }()
				pollers[i] = p
			}
			var all sync.WaitGroup
			var polls, failed atomic.Int64
			before, began := d.served(route), time.Now()
			for i, p := range pollers {
				all.Go(func() {
					// All come at once, as to a link that was sent to them, and then spread over the second.
					spread := time.Duration(i) * time.Second / time.Duration(clients)
					for at := time.Duration(0); at < duration; at = at.Truncate(time.Second) + time.Second + spread {
						time.Sleep(time.Until(began.Add(at)))
						if err := p.poll(); err != nil {
							if failed.Add(1) == 1 {
								t.Error(err)
							}
							return
						}
						polls.Add(1)
					}
				})
			}
			all.Wait()
			took := time.Since(began).Seconds()
			reached := d.served(route) - before
			rate := float64(reached) / took
			t.Logf("%d polls of %d clients in %.1f s: %d requests reached the daemon, %.2f/s",
				polls.Load(), clients, took, reached, rate)
			if failed.Load() > 0 || polls.Load() < int64(clients)*int64(duration.Seconds()-1) {
				t.Errorf("%d polls succeeded, %d clients failed", polls.Load(), failed.Load())
			}
			// One at the start and one for each second; fewer than two would mean that the board stands still.
			if reached < 2 || reached > int(took)+2 {
				t.Errorf("%.2f requests a second reached the daemon, want about 1", rate)
			}
		})
	}
}
