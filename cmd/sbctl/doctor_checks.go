package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/internal/buildinfo"
	"github.com/scoreboard/scoreboard/server/protocol"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

const (
	checkTimeout = 5 * time.Second
	// The server refuses signatures whose time is further off than this.
	maxSkew = time.Minute
	// From here on a person should look at the clock.
	warnSkew = 10 * time.Second
	// A healthy board is never older: the relay says so every second.
	maxAge = 10 * time.Second
)

// answer is what one request brought, kept whole: several checks read it.
type answer struct {
	status int
	date   time.Time
	sent   time.Time
	took   time.Duration
	body   []byte
	err    error
}

func ask(ctx context.Context, url, token string) (a answer) {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return answer{err: err}
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	a.sent = time.Now()
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return answer{err: err}
	}
	defer func() { _ = res.Body.Close() }()
	a.took = time.Since(a.sent)
	a.status = res.StatusCode
	a.date, _ = http.ParseTime(res.Header.Get("Date"))
	a.body, a.err = io.ReadAll(io.LimitReader(res.Body, 1<<20))
	return a
}

// finding is a check that has a next step.
func finding(name, status, detail, next string) check {
	return check{Name: name, Status: status, Detail: detail, NextStep: next}
}

// diagnose makes every check, in the order in which one depends on another.
func (p *program) diagnose(ctx context.Context, s settings, ops setting) diagnosis {
	top := answer{err: noAddress(s.Server.Value)}
	if top.err == nil {
		top = ask(ctx, strings.TrimSuffix(s.Server.Value, "/")+"/v1/leaderboard/top?limit=1", s.Token.Value)
	}
	d := diagnosis{Healthy: true, Checks: []check{checkSettings(s), checkServer(s, top)}}
	d.Checks = append(d.Checks, checkReady(ctx, ops))
	if top.err == nil {
		d.Checks = append(d.Checks, checkClock(top), checkToken(s, top), p.checkKey(ctx, s), checkTop(top))
		d.Checks = append(d.Checks, p.checkServerItself(ctx)...)
	}
	for _, c := range d.Checks {
		d.Healthy = d.Healthy && c.Status != checkFail
	}
	return d
}

// noAddress says what is wrong with an address that is none.
func noAddress(server string) error {
	c, err := client.New(server, client.Options{})
	if err == nil {
		c.Close()
	}
	return err
}

func checkSettings(s settings) check {
	c := check{Name: "settings", Status: checkOK, Detail: "server " + s.Server.Value + " from " + s.Server.From}
	for _, part := range []struct {
		name string
		setting
	}{{"token", s.Token}, {"key", s.KeyID}, {"secret", s.KeySecret}} {
		if part.Value != "" {
			c.Detail += ", " + part.name + " from " + part.From
		}
	}
	return c
}

func checkServer(s settings, a answer) check {
	if a.err != nil {
		return finding("server", checkFail, a.err.Error(), "start it (\"make dev\"), or name another with --server; it was taken from "+s.Server.From)
	}
	return check{Name: "server", Status: checkOK, Detail: fmt.Sprintf("answers in %v", a.took.Round(time.Millisecond/10))}
}

func checkReady(ctx context.Context, at setting) check {
	const next = "name it with --ops or SBCTL_OPS_SERVER"
	if at.Value == "" {
		return finding("ready", checkSkipped, "the operations address is not known", next)
	}
	ops := strings.TrimSuffix(at.Value, "/")
	a := ask(ctx, ops+"/readyz", "")
	switch {
	case at.From == guessed && (a.err != nil || a.status != http.StatusOK && a.status != http.StatusServiceUnavailable):
		return finding("ready", checkSkipped, "the operations address is not known, and it is not "+ops, next)
	case a.err != nil:
		return finding("ready", checkWarn, fmt.Sprintf("%s (from %s) does not answer: %v", ops, at.From, a.err), next)
	case a.status != http.StatusOK:
		return finding("ready", checkFail, fmt.Sprintf("%s/readyz is %d: %s", ops, a.status, oneLine(a.body)), "look at the server's log for the role that does not work")
	}
	return check{Name: "ready", Status: checkOK, Detail: ops + "/readyz"}
}

func checkClock(a answer) check {
	if a.date.IsZero() {
		return check{Name: "clock", Status: checkSkipped, Detail: "the server does not say its time"}
	}
	// The header has whole seconds, so on average half a second is cut off it.
	skew := a.date.Add(time.Second / 2).Sub(a.sent.Add(a.took / 2)).Round(time.Second)
	c := check{Name: "clock", Status: checkOK, Detail: fmt.Sprintf("differs from the server's by %v", skew.Abs())}
	if skew.Abs() > warnSkew {
		c.Status, c.NextStep = checkWarn, "synchronise this machine's clock (NTP); beyond a minute every signature is refused"
	}
	if skew.Abs() >= maxSkew {
		c.Status = checkFail
	}
	return c
}

func checkToken(s settings, a answer) check {
	const next = "set another in SBCTL_TOKEN; \"sbctl token mint\" makes one on a development server"
	if s.Token.Value == "" {
		if a.status == http.StatusUnauthorized {
			return finding("token", checkFail, "there is none, and the server wants one", next)
		}
		return check{Name: "token", Status: checkSkipped, Detail: "there is none"}
	}
	expires, err := tokenExpiry(s.Token.Value)
	switch {
	case a.status == http.StatusUnauthorized && err == nil && expires.Before(a.sent):
		return finding("token", checkFail, "expired at "+expires.UTC().Format(time.RFC3339), next)
	case a.status == http.StatusUnauthorized:
		return finding("token", checkFail, "the server refuses it: "+refusalOf(a.body), next)
	case err != nil:
		return check{Name: "token", Status: checkOK, Detail: "accepted"}
	}
	return check{Name: "token", Status: checkOK, Detail: "accepted, until " + expires.UTC().Format(time.RFC3339)}
}

// tokenExpiry reads the expiry of a JWT without checking its signature, which
// is the server's to check.
func tokenExpiry(token string) (time.Time, error) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return time.Time{}, errors.New("not a JWT")
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return time.Time{}, fmt.Errorf("decode the token: %w", err)
	}
	var claims struct {
		Expires int64 `json:"exp"`
	}
	if err := json.Unmarshal(payload, &claims); err != nil || claims.Expires == 0 {
		return time.Time{}, errors.New("the token does not say when it expires")
	}
	return time.Unix(claims.Expires, 0), nil
}

// checkKey has an empty batch signed: it is checked before anything else of
// it, and writes nothing.
func (p *program) checkKey(ctx context.Context, s settings) check {
	switch {
	case s.KeyID.Value == "" && s.KeySecret.Value == "":
		return check{Name: "key", Status: checkWarn, Detail: "there is none: reads work, writes are refused", NextStep: "set SBCTL_KEY_ID and SBCTL_KEY_SECRET; \"sbctl key create\" makes a key"}
	case s.KeyID.Value == "" || s.KeySecret.Value == "":
		return finding("key", checkFail, "only half of it is set", "set both SBCTL_KEY_ID and SBCTL_KEY_SECRET")
	}
	c, err := p.client()
	if err != nil {
		return check{Name: "key", Status: checkFail, Detail: err.Error()}
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	_, err = c.SubmitBatch(ctx, nil)
	switch code := scoreboard.CodeOf(err); {
	case err == nil:
		return check{Name: "key", Status: checkOK, Detail: s.KeyID.Value + " is accepted"}
	case code == scoreboard.CodeInvalidSignature:
		return finding("key", checkFail, s.KeyID.Value+" is not accepted: unknown, revoked, another secret, or a clock that differs",
			"\"sbctl key list\" shows the keys there are, \"sbctl key create\" makes one; set SBCTL_KEY_ID and SBCTL_KEY_SECRET")
	}
	return check{Name: "key", Status: checkOK, Detail: s.KeyID.Value + " is set (only a write of the user can tell whether it is accepted)"}
}

func checkTop(a answer) check {
	if a.status != http.StatusOK {
		return check{Name: "top", Status: checkFail, Detail: fmt.Sprintf("answers %d: %s", a.status, refusalOf(a.body))}
	}
	var top protocol.Top
	if err := json.Unmarshal(a.body, &top); err != nil {
		return finding("top", checkFail, "the answer is not one of this API: "+err.Error(), "check that --server names a scoreboard")
	}
	age := time.Duration(top.AgeMS) * time.Millisecond
	detail := fmt.Sprintf("%d users on %s, %v old", top.Total, scoreboard.GlobalBoard, age)
	if top.BoardState != "" {
		detail += ", " + top.BoardState
	}
	switch {
	case top.DegradedReason == "store_unavailable":
		return finding("top", checkFail, detail+", degraded: "+top.DegradedReason, "PostgreSQL does not answer: reads come from Redis, and nothing can be written")
	case top.Degraded:
		return finding("top", checkFail, detail+", degraded: "+top.DegradedReason, "reads come from PostgreSQL until the ranking is back; look at Redis and the server's log")
	case age > maxAge:
		return finding("top", checkFail, detail, "changes do not reach the ranking: look at the relay, Kafka and the projector in the server's log")
	}
	return check{Name: "top", Status: checkOK, Detail: detail}
}

// checkServerItself asks the server what it finds, which operators may.
func (p *program) checkServerItself(ctx context.Context) []check {
	c, err := p.client()
	if err != nil {
		return nil // said by the check of the key
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	found, err := c.Checks(ctx)
	switch code := scoreboard.CodeOf(err); {
	case code == scoreboard.CodeForbidden || code == scoreboard.CodeUnauthorized:
		return []check{finding("backends", checkSkipped, "the server tells operators alone what it finds", "use a token with the scope score:admin")}
	case err != nil:
		return []check{finding("backends", checkFail, err.Error(), "look at the server's log")}
	}
	return append([]check{checkVersion(found.Version)}, found.Checks...)
}

func checkVersion(server string) check {
	own := buildinfo.Read().Version
	if own == server {
		return check{Name: "version", Status: checkOK, Detail: own + ", as the server"}
	}
	return finding("version", checkWarn, fmt.Sprintf("sbctl is %s, the server %s", own, server), "use the sbctl of the server's release; neighbouring releases work together")
}

func refusalOf(body []byte) string {
	var e protocol.Error
	if json.Unmarshal(body, &e) == nil && e.ErrorCode != "" {
		return e.ErrorCode + ": " + e.Message
	}
	return oneLine(body)
}

func oneLine(body []byte) string {
	s := strings.Join(strings.Fields(string(body)), " ")
	return s[:min(len(s), 200)]
}
