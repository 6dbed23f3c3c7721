package loadgen

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/loadgen/codec"
)

// openDialect returns where the server has mounted the dialect of the plan, and the
// dialect's board, which its document says.
func (s *session) openDialect(ctx context.Context) (where, board string, err error) {
	root, name := strings.TrimSuffix(s.options.Server.URL, "/"), s.options.Plan.Dialect
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, root+"/openapi/"+name+".json", nil)
	if err != nil {
		return "", "", err
	}
	res, err := s.web.Do(req)
	if err != nil {
		return "", "", err
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		return "", "", fmt.Errorf("%s does not serve the dialect %s: enable it with the setting dialects", root, name)
	}
	var d struct {
		Servers []struct{ URL string }
		Board   string `json:"x-board"`
	}
	if err := json.NewDecoder(io.LimitReader(res.Body, maxResponse)).Decode(&d); err != nil || len(d.Servers) != 1 {
		return "", "", fmt.Errorf("read the document of the dialect %s: %w", name, err)
	}
	base, err := url.Parse(root)
	if err != nil {
		return "", "", err
	}
	at, err := base.Parse(d.Servers[0].URL)
	if err != nil {
		return "", "", err
	}
	if at.Host != base.Host {
		return "", "", fmt.Errorf("the dialect %s is served for the host %s: use that as the server's URL",
			name, at.Host)
	}
	if s.options.Plan.OwnTokens() && !s.mints {
		return "", "", fmt.Errorf("the dialect %s needs a token of each user, and this server does not mint tokens",
			name)
	}
	return strings.TrimSuffix(at.String(), "/"), d.Board, nil
}

// probeDialect checks that the server accepts a token for the writes of the plan's
// dialect, which is at a URL. It writes nothing.
func (s *session) probeDialect(ctx context.Context, dialect string, tokens client.TokenSource) error {
	p := &s.options.Plan
	token, err := tokens.Token(ctx)
	if err != nil {
		return err
	}
	method, path, body := codec.Probe(p.Dialect, p.Prefix+"probe", client.NewEventID())
	r, err := exchange(ctx, s.web, method, dialect+path, token, body)
	if err != nil {
		return err
	}
	if problem := codec.ProbeProblem(p.Dialect, r.status, r.body); problem != "" {
		return fmt.Errorf("the load did not start: the dialect %s answered %s", p.Dialect, problem)
	}
	return nil
}

// minting is how many users' tokens are minted at once.
const minting = 8

// userTokens are the tokens of the plan's users, minted before the load.
func (s *session) userTokens(ctx context.Context) ([]client.TokenSource, error) {
	p := &s.options.Plan
	tokens := make([]client.TokenSource, p.Users)
	users, failed := make(chan int), make(chan error, minting)
	var all sync.WaitGroup
	for range minting {
		all.Go(func() {
			for user := range users {
				tokens[user] = s.token(p.UserID(uint64(user)), "", "")
				if _, err := tokens[user].Token(ctx); err != nil {
					failed <- err
					return
				}
			}
		})
	}
	var err error
	for user := range tokens {
		select {
		case users <- user:
			continue
		case err = <-failed:
		}
		break
	}
	close(users)
	all.Wait()
	select {
	case err = <-failed:
	default:
	}
	if err != nil {
		return nil, fmt.Errorf("mint the tokens of %d users: %w", p.Users, err)
	}
	return tokens, nil
}

// sendDialect sends request n in the shape of the plan's dialect. For highscore it
// starts the action of a write first.
func (s *sender) sendDialect(ctx context.Context, n uint64) (int, io.ReadCloser, error) {
	source := s.tokens[n%uint64(len(s.tokens))]
	if s.plan.OwnTokens() {
		source = s.tokens[s.User(n)]
	}
	token, err := source.Token(ctx)
	if err != nil {
		return 0, nil, err
	}
	action := ""
	if k, write := s.plan.Write(n); write && s.plan.NeedsAction() {
		e := s.events.At(k)
		status, body, err := s.exchange(ctx, func(b []byte) []byte { return s.AppendAction(b, &e, token) })
		if err != nil {
			return 0, nil, err
		}
		text, err := io.ReadAll(io.LimitReader(body, maxResponse))
		if err == nil {
			err = body.Close()
		}
		if err != nil {
			return 0, nil, err
		}
		var ok bool
		if action, ok = codec.ParseAction(status, text); !ok { // its error is the write's
			return status, io.NopCloser(strings.NewReader(string(text))), nil
		}
	}
	request := func(b []byte) []byte { return s.AppendDialect(b, n, token, action) }
	if !s.plan.IsCut(n) {
		return s.exchange(ctx, request)
	}
	x, err := s.conns.Get(ctx)
	if err != nil {
		return 0, nil, err
	}
	x.Buf = request(x.Buf[:0])
	if err := x.Cut(); err != nil {
		return 0, nil, err
	}
	return 0, nil, errCut
}

func (s *sender) exchange(ctx context.Context, request func([]byte) []byte) (int, io.ReadCloser, error) {
	x, err := s.conns.Get(ctx)
	if err != nil {
		return 0, nil, err
	}
	x.Buf = request(x.Buf[:0])
	return x.Do(ctx)
}
