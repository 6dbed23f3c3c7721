package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/buildinfo"
	"github.com/scoreboard/scoreboard/internal/english"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

const (
	checkTimeout = 5 * time.Second
	// The server rejects signatures whose time differs by more than this.
	maxSkew = time.Minute
	// A difference beyond this deserves a warning.
	warnSkew = 10 * time.Second
	// A healthy board is younger: the relay sends a heartbeat every second.
	maxAge = 10 * time.Second
)

// response is a whole response, because several checks read it.
type response struct {
	status int
	date   time.Time
	sent   time.Time
	took   time.Duration
	body   []byte
	err    error
}

func fetch(ctx context.Context, url, token string) (a response) {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return response{err: err}
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	a.sent = time.Now()
	res, err := client.NewHTTP(http.DefaultTransport).Do(req)
	if err != nil {
		return response{err: err}
	}
	defer func() { _ = res.Body.Close() }()
	a.took = time.Since(a.sent)
	a.status = res.StatusCode
	a.date, _ = http.ParseTime(res.Header.Get("Date"))
	a.body, a.err = io.ReadAll(io.LimitReader(res.Body, 1<<20))
	return a
}

// finding is a check with a next step.
func finding(name, status, detail, next string) check {
	return check{Name: name, Status: status, Detail: detail, NextStep: next}
}

// pageOf names the page of the documentation about what a check of this command finds. The server
// names those of its own checks.
var pageOf = map[string]string{
	"server": "down", "ready": "not-ready", "clock": "clock-skew", "token": "tokens", "key": "signing",
	"top": "boards-degraded", "version": "versions",
}

// diagnose runs all checks, each after those that it depends on.
func diagnose(ctx context.Context, cn *connector, s connection, ops option) diagnosis {
	top, base := response{err: addressError(s.Server.Value)}, strings.TrimSuffix(s.Server.Value, "/")
	if top.err == nil {
		top = fetch(ctx, base+"/v1/leaderboard/top?limit=1", s.Token.Value)
	}
	d := diagnosis{Healthy: true, Checks: []check{checkConnection(s), checkServer(s, top)}}
	d.Checks = append(d.Checks, checkReadiness(ctx, ops))
	if top.err == nil {
		d.Checks = append(d.Checks, checkClock(top), checkToken(s, top), checkKey(ctx, cn, s), checkTop(top))
		d.Checks = append(d.Checks, serverChecks(ctx, cn)...)
		d.docs = base + "/docs/"
	}
	for i := range d.Checks {
		c := &d.Checks[i]
		d.Healthy = d.Healthy && c.Status != checkFail
		if c.Status == checkFail || c.Status == checkWarn {
			c.Page = cmp.Or(c.Page, pageOf[c.Name])
		}
	}
	return d
}

// addressError is the client's error about an invalid address.
func addressError(server string) error {
	c, err := client.New(server, client.Options{})
	if err == nil {
		c.Close()
	}
	return err
}

func checkConnection(s connection) check {
	c := check{Name: "connection", Status: checkOK, Detail: "server " + s.Server.Value + " from " + s.Server.From}
	for _, part := range []struct {
		name string
		option
	}{{"token", s.Token}, {"key", s.KeyID}, {"secret", s.KeySecret}} {
		if part.Value != "" {
			c.Detail += ", " + part.name + " from " + part.From
		}
	}
	if len(s.Skipped) > 0 {
		c.Detail += ", skipped: " + strings.Join(s.Skipped, ", ")
	}
	return c
}

func checkServer(s connection, a response) check {
	if a.err != nil {
		return finding("server", checkFail, explainAt(s.Server.Value, a.err), s.unreachableStep())
	}
	return check{
		Name: "server", Status: checkOK,
		Detail: fmt.Sprintf("answers in %v", a.took.Round(time.Millisecond/10)),
	}
}

func checkReadiness(ctx context.Context, at option) check {
	const next = "set it with --ops or SBCTL_OPS_SERVER"
	if at.Value == "" {
		return finding("ready", checkSkipped, "the operations address is unknown", next)
	}
	ops := strings.TrimSuffix(at.Value, "/")
	a := fetch(ctx, ops+"/readyz", "")
	switch {
	case at.From == guessed && (a.err != nil || a.status != http.StatusOK && a.status != http.StatusServiceUnavailable):
		return finding("ready", checkSkipped, "the operations address is unknown, and no server answers at "+ops, next)
	case a.err != nil:
		return finding("ready", checkWarn, fmt.Sprintf("%s (address from %s)", explainAt(ops, a.err), at.From),
			"start the server, or change the address with --ops or SBCTL_OPS_SERVER")
	case a.status != http.StatusOK:
		return notReady(ops, a)
	}
	return check{Name: "ready", Status: checkOK, Detail: ops + "/readyz"}
}

// notReady explains an answer of /readyz, which has a text for each part of the server.
func notReady(ops string, a response) check {
	var parts map[string]string
	if err := json.Unmarshal(a.body, &parts); err != nil {
		return finding("ready", checkFail, fmt.Sprintf("%s/readyz returns %d: %s", ops, a.status, oneLine(a.body)),
			"check that this is the operations address of a scoreboard server")
	}
	if problem, next, ok := strings.Cut(parts["schema"], ": "); ok {
		return finding("ready", checkFail, fmt.Sprintf("%s/readyz returns %d: %s", ops, a.status, problem), next)
	}
	var problems []string
	for _, name := range slices.Sorted(maps.Keys(parts)) {
		if parts[name] != "ok" {
			problems = append(problems, name+": "+parts[name])
		}
	}
	detail := fmt.Sprintf("%s/readyz returns %d: %s", ops, a.status, strings.Join(problems, ", "))
	return finding("ready", checkFail, detail, "check the server's log")
}

func checkClock(a response) check {
	if a.date.IsZero() {
		return check{Name: "clock", Status: checkSkipped, Detail: "the server sent no Date header"}
	}
	// The header has whole seconds: on average half a second is cut off.
	skew := a.date.Add(time.Second / 2).Sub(a.sent.Add(a.took / 2)).Round(time.Second)
	c := check{Name: "clock", Status: checkOK, Detail: fmt.Sprintf("differs from the server's by %v", skew.Abs())}
	if skew.Abs() > warnSkew {
		c.Status = checkWarn
		c.NextStep = "synchronise this machine's clock (NTP); beyond a minute every signature is rejected"
	}
	if skew.Abs() >= maxSkew {
		c.Status = checkFail
	}
	return c
}

func checkToken(s connection, a response) check {
	next := s.newTokenStep()
	if s.Token.From == tokenFlag {
		next = "compare its claims with the settings that begin with auth. (\"sbctl settings list\"); " +
			"docs/tokens.md has those for common identity providers"
	}
	if s.Token.Value == "" {
		if a.status == http.StatusUnauthorized {
			return finding("token", checkFail, "not set, but the server requires one", next)
		}
		return check{Name: "token", Status: checkSkipped, Detail: "not set"}
	}
	claims, err := readClaims(s.Token.Value)
	expires := claims.expiry()
	switch {
	case a.status == http.StatusUnauthorized && err == nil && !expires.IsZero() && expires.Before(a.sent):
		return finding("token", checkFail, "expired at "+expires.UTC().Format(time.RFC3339), next)
	case a.status == http.StatusUnauthorized:
		return finding("token", checkFail, "rejected by the server: "+errorText(a.body), next)
	case a.status >= http.StatusInternalServerError:
		return finding("token", checkSkipped, "not verified: the server rejects all requests", "")
	case err != nil || expires.IsZero():
		return check{Name: "token", Status: checkOK, Detail: "accepted"}
	}
	return check{Name: "token", Status: checkOK, Detail: "accepted, expires at " + expires.UTC().Format(time.RFC3339)}
}

// checkKey sends a signed empty batch: the server verifies the signature first,
// and nothing is written.
func checkKey(ctx context.Context, cn *connector, s connection) check {
	switch {
	case s.KeyID.Value == "" && s.KeySecret.Value == "":
		return finding("key", checkWarn, "not set: reads work, writes are rejected",
			"set SBCTL_KEY_ID and SBCTL_KEY_SECRET; \"sbctl key create\" creates a key")
	case s.KeyID.Value == "" || s.KeySecret.Value == "":
		return finding("key", checkFail, "only the id or only the secret is set",
			"set both SBCTL_KEY_ID and SBCTL_KEY_SECRET")
	}
	c, err := cn.client()
	if err != nil {
		return check{Name: "key", Status: checkFail, Detail: err.Error()}
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	_, err = c.SubmitBatch(ctx, nil)
	switch code := wire.CodeOf(err); {
	case err == nil:
		return check{Name: "key", Status: checkOK, Detail: s.KeyID.Value + " is accepted"}
	case code == wire.CodeInvalidSignature:
		return finding(
			"key",
			checkFail,
			s.KeyID.Value+" is rejected: unknown, revoked, wrong secret, or a wrong clock",
			"list keys with \"sbctl key list\" or create one with \"sbctl key create\"; "+
				"set SBCTL_KEY_ID and SBCTL_KEY_SECRET",
		)
	}
	return check{
		Name: "key", Status: checkOK,
		Detail: s.KeyID.Value + " is set; only a write by the token's user can verify it",
	}
}

func checkTop(a response) check {
	if a.status != http.StatusOK {
		c := check{Name: "top", Status: checkFail, Detail: fmt.Sprintf("status %d: %s", a.status, errorText(a.body))}
		if a.status == http.StatusUnauthorized {
			c.Page = pageOf["token"]
		}
		return c
	}
	var top wire.Top
	if err := json.Unmarshal(a.body, &top); err != nil {
		return finding("top", checkFail, "the response is not that of a scoreboard server",
			"check that --server is the address of a scoreboard server")
	}
	age := time.Duration(top.AgeMS) * time.Millisecond
	detail := fmt.Sprintf("%s on %s, %v old", english.Count(top.Total, "user"), scoreboard.GlobalBoard, age)
	if top.BoardState != "" {
		detail += ", " + top.BoardState
	}
	switch {
	case top.DegradedReason == "store_unavailable":
		return finding("top", checkFail, detail+", degraded: "+top.DegradedReason,
			"check PostgreSQL: reads are served from Redis, and writes fail")
	case top.DegradedReason == "rebuilding":
		return finding("top", checkFail, detail+", degraded: "+top.DegradedReason,
			"wait for the rebuild; if it does not end, no process with the role maintenance is running, "+
				"which rebuilds rankings: start one, or run \"sbctl rebuild --board "+top.Board+"\"")
	case top.Degraded:
		return finding("top", checkFail, detail+", degraded: "+top.DegradedReason,
			"check Redis and the server's log: reads are served from PostgreSQL until the ranking is back")
	case age > maxAge:
		return finding("top", checkFail, detail,
			"check the relay, the transport and the projector in the server's log: changes do not reach the ranking")
	}
	return check{Name: "top", Status: checkOK, Detail: detail}
}

// serverChecks returns the server's own checks, which need score:operate.
func serverChecks(ctx context.Context, cn *connector) []check {
	c, err := cn.client()
	if err != nil {
		return nil // checkKey reports it
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	found, err := c.Checks(ctx)
	switch code := wire.CodeOf(err); {
	case code == wire.CodeForbidden || code == wire.CodeUnauthorized:
		return []check{finding("backends", checkSkipped, "the server's own checks need the scope score:operate",
			"use a token with the scope score:operate")}
	case err != nil:
		return []check{finding("backends", checkFail, cn.explain(err), "check the server's log")}
	}
	return append([]check{checkVersion(found.Version)}, found.Checks...)
}

func checkVersion(server string) check {
	own := buildinfo.Read().Version
	if own == server {
		return check{Name: "version", Status: checkOK, Detail: own + ", same as the server"}
	}
	return finding("version", checkWarn, fmt.Sprintf("sbctl is %s, the server is %s", own, server),
		"use the sbctl of the server's release; adjacent releases are compatible")
}

func errorText(body []byte) string {
	var e wire.Error
	if json.Unmarshal(body, &e) == nil && e.ErrorCode != "" {
		return e.ErrorCode + ": " + e.Message
	}
	return oneLine(body)
}

func oneLine(body []byte) string {
	s := strings.Join(strings.Fields(string(body)), " ")
	return s[:min(len(s), 200)]
}
