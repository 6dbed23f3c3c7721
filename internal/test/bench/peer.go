package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
)

// PeerOptions are another server that gets the load of Ingest.
type PeerOptions struct {
	Kind      string // nakama or podium
	URL       string // such as http://127.0.0.1:7350
	Board     string // a leaderboard that adds up; Nakama's must exist and accept writes of players
	ServerKey string // of Nakama
}

// MeasurePeer measures increments by one on another leaderboard server in a closed loop, with the
// users and connections of Ingest, so that the figures compare. The server is expected to
// run on this machine: the CPU is that of the whole machine.
func MeasurePeer(ctx context.Context, o Options) error {
	p := &peer{PeerOptions: o.Peer, sizes: o.sizes(), users: users, web: &http.Client{Timeout: 10 * time.Second}}
	if o.Quick {
		p.users = 20
	}
	switch p.Kind {
	case "nakama":
		if err := p.openSessions(ctx); err != nil {
			return err
		}
	case "podium":
	default:
		return fmt.Errorf("--kind %q is unknown: want nakama or podium", p.Kind)
	}
	if err := p.probe(ctx); err != nil {
		return err
	}
	if _, err := requestLoop(ctx, p.URL, 64, p.warm, p.next()); err != nil {
		return err
	}
	o.println("| connections | increments/s | p50 ms | p99 ms | errors | this machine, CPU µs each |")
	o.println("|---|---|---|---|---|---|")
	for _, connections := range p.connections {
		before := readMachine()
		loop, err := requestLoop(ctx, p.URL, connections, p.timed, p.next())
		if err != nil {
			return err
		}
		if loop.requests == loop.errors {
			return errors.New("every request failed")
		}
		after := readMachine()
		o.printf("| %d | %.0f | %s | %s | %d | %.0f |\n", connections,
			float64(loop.requests)/loop.took.Seconds(), loop.p50, loop.p99, loop.errors,
			float64(after.busy-before.busy)*float64(tick.Microseconds())/float64(loop.requests))
	}
	return nil
}

type peer struct {
	PeerOptions
	sizes
	users  int
	tokens []string // of the users' sessions, for Nakama
	web    *http.Client
}

// request is an increment of a user.
func (p *peer) request(user int) (method, path, token, body string) {
	if p.Kind == "nakama" {
		return http.MethodPost, "/v2/leaderboard/" + p.Board, p.tokens[user], `{"score":"1"}`
	}
	return http.MethodPatch, fmt.Sprintf("/l/%s/members/user-%d/score", p.Board, user), "", `{"increment":1}`
}

// next returns what appends the next request: users as often as in Ingest.
func (p *peer) next() func(b []byte) []byte {
	zipf := rand.NewZipf(rand.New(rand.NewPCG(1, uint64(time.Now().UnixNano()))), skew, 1, uint64(p.users-1))
	return func(b []byte) []byte {
		method, path, token, body := p.request(int(zipf.Uint64()))
		b = fmt.Appendf(b, "%s %s HTTP/1.1\r\nHost: bench\r\nContent-Type: application/json\r\nContent-Length: %d\r\n",
			method, path, len(body))
		if token != "" {
			b = fmt.Appendf(b, "Authorization: Bearer %s\r\n", token)
		}
		return fmt.Appendf(b, "\r\n%s", body)
	}
}

// probe sends one increment, so that a mistake is told with the server's own words.
func (p *peer) probe(ctx context.Context) error {
	method, path, token, body := p.request(0)
	_, err := p.call(ctx, method, path, "Bearer "+token, body)
	return err
}

// openSessions signs every user in at Nakama.
func (p *peer) openSessions(ctx context.Context) error {
	p.tokens = make([]string, p.users)
	key := "Basic " + base64.StdEncoding.EncodeToString([]byte(p.ServerKey+":"))
	var g errgroup.Group
	g.SetLimit(32)
	for user := range p.users {
		g.Go(func() error {
			answer, err := p.call(ctx, http.MethodPost, "/v2/account/authenticate/custom?create=true", key,
				fmt.Sprintf(`{"id":"scorebench-%d"}`, user))
			var session struct {
				Token string `json:"token"`
			}
			if err == nil {
				err = json.Unmarshal(answer, &session)
			}
			if err == nil && session.Token == "" {
				err = fmt.Errorf("%s answered without a token: %s", p.URL, answer)
			}
			p.tokens[user] = session.Token
			return err
		})
	}
	return g.Wait()
}

// call returns the body of a response that is not an error.
func (p *peer) call(ctx context.Context, method, path, authorization, body string) ([]byte, error) {
	address := strings.TrimSuffix(p.URL, "/") + path
	req, err := http.NewRequestWithContext(ctx, method, address, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	if authorization != "Bearer " {
		req.Header.Set("Authorization", authorization)
	}
	res, err := p.web.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = res.Body.Close() }()
	answer, err := io.ReadAll(io.LimitReader(res.Body, 64<<10))
	if err != nil {
		return nil, err
	}
	if res.StatusCode >= 400 {
		return nil, fmt.Errorf("%s %s answered %s: %s", method, address, res.Status, bytes.TrimSpace(answer))
	}
	return answer, nil
}
