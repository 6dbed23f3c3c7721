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

// diagnose makes every check, in the order in which one depends on another.
func diagnose(ctx context.Context, s settings, ops string) diagnosis {
	top := ask(ctx, strings.TrimSuffix(s.Server.Value, "/")+"/v1/leaderboard/top?limit=1", s.Token.Value)
	d := diagnosis{Healthy: true, Checks: []check{checkSettings(s), checkServer(s, top)}}
	d.Checks = append(d.Checks, checkReady(ctx, ops))
	if top.err == nil {
		d.Checks = append(d.Checks, checkClock(top), checkToken(s, top), checkKey(s), checkTop(top))
	}
	for _, c := range d.Checks {
		d.Healthy = d.Healthy && c.Status != checkFail
	}
	return d
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
		return check{"server", checkFail, a.err.Error(), "start it (\"make dev\"), or name another with --server; it was taken from " + s.Server.From}
	}
	return check{Name: "server", Status: checkOK, Detail: fmt.Sprintf("answers in %v", a.took.Round(time.Millisecond/10))}
}

func checkReady(ctx context.Context, ops string) check {
	if ops == "" {
		return check{Name: "ready", Status: checkSkipped, Detail: "the operations address is not known", NextStep: "name it with --ops-server"}
	}
	a := ask(ctx, strings.TrimSuffix(ops, "/")+"/readyz", "")
	switch {
	case a.err != nil:
		return check{"ready", checkWarn, a.err.Error(), "name the operations address with --ops-server"}
	case a.status != http.StatusOK:
		return check{"ready", checkFail, fmt.Sprintf("%s/readyz is %d: %s", ops, a.status, oneLine(a.body)), "look at the server's log for the role that does not work"}
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
			return check{"token", checkFail, "there is none, and the server wants one", next}
		}
		return check{Name: "token", Status: checkSkipped, Detail: "there is none"}
	}
	expires, err := tokenExpiry(s.Token.Value)
	switch {
	case a.status == http.StatusUnauthorized && err == nil && expires.Before(a.sent):
		return check{"token", checkFail, "expired at " + expires.UTC().Format(time.RFC3339), next}
	case a.status == http.StatusUnauthorized:
		return check{"token", checkFail, "the server refuses it: " + refusalOf(a.body), next}
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

func checkKey(s settings) check {
	switch {
	case s.KeyID.Value == "" && s.KeySecret.Value == "":
		return check{Name: "key", Status: checkWarn, Detail: "there is none: reads work, writes are refused", NextStep: "set SBCTL_KEY_ID and SBCTL_KEY_SECRET; \"sbctl key create\" makes a key"}
	case s.KeyID.Value == "" || s.KeySecret.Value == "":
		return check{"key", checkFail, "only half of it is set", "set both SBCTL_KEY_ID and SBCTL_KEY_SECRET"}
	}
	return check{Name: "key", Status: checkOK, Detail: s.KeyID.Value + " is set (only a write can tell whether it is accepted)"}
}

func checkTop(a answer) check {
	if a.status != http.StatusOK {
		return check{Name: "top", Status: checkFail, Detail: fmt.Sprintf("answers %d: %s", a.status, refusalOf(a.body))}
	}
	var top protocol.Top
	if err := json.Unmarshal(a.body, &top); err != nil {
		return check{"top", checkFail, "the answer is not one of this API: " + err.Error(), "check that --server names a scoreboard"}
	}
	age := time.Duration(top.AgeMS) * time.Millisecond
	detail := fmt.Sprintf("%d users on %s, %v old", top.Total, scoreboard.GlobalBoard, age)
	switch {
	case top.Degraded:
		return check{"top", checkFail, detail + ", degraded: " + top.DegradedReason, "reads come from PostgreSQL until the ranking is back; look at Redis and the server's log"}
	case age > maxAge:
		return check{"top", checkFail, detail, "changes do not reach the ranking: look at the relay, Kafka and the projector in the server's log"}
	}
	return check{Name: "top", Status: checkOK, Detail: detail}
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
