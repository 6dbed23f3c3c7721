package main

import (
	"context"
	"errors"
	"maps"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/test/fixtures"
	"github.com/scoreboard/scoreboard/server/http/auth"
)

// A board that requires action tokens, and one that requires attestations, with
// bearer tokens of an identity provider.
func TestActionsAndAttestations(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	identity, game := fixtures.Ed25519(t), fixtures.Ed25519(t)
	h.env = append(h.env, "SCOREBOARD_AUTH_JWT_SECRET=", "SCOREBOARD_AUTH_JWKS_NETWORKS=127.0.0.0/8",
		"SCOREBOARD_AUTH_JWKS_URL="+identity.URL,
		"SCOREBOARD_AUTH_ATTESTATION_JWKS_URL="+game.URL)
	d := h.start()
	connect := func(user, scope string, signer client.Key) *client.Client {
		token := identity.Sign(t, jwt.MapClaims{
			"sub": user, "scope": scope, "iss": "scoreboard-dev", "aud": "scoreboard",
			"iat": time.Now().Unix(), "nbf": time.Now().Unix(), "exp": time.Now().Add(time.Hour).Unix(),
		})
		c, err := client.New(d.url, client.Options{Token: token, KeyID: signer.KeyID, KeySecret: signer.Secret})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Close)
		return c
	}
	ctx, cancel := contextFor(time.Minute)
	defer cancel()
	admin := connect("root", auth.ScopeAdmin, client.Key{})
	key, err := admin.CreateKey(ctx, client.KeyRequest{Name: "tests"})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []client.BoardRequest{
		{Board: "timed", Require: []string{"action-token"}, ActionTTL: "1h"},
		{Board: "slow", Require: []string{"action-token"}, ActionMin: "30m"},
		{Board: "brisk", Require: []string{"action-token"}, ActionMin: "1s"},
		{Board: "vouched", Require: []string{"attestation"}},
	} {
		made, err := admin.CreateBoard(ctx, r)
		if err != nil || len(made.Require) != 1 {
			t.Fatalf("%s: got %+v, %v", r.Board, made, err)
		}
	}
	for name, r := range map[string]client.BoardRequest{
		"unknown requirement":   {Board: "x", Require: []string{"luck"}},
		"minimum over lifetime": {Board: "x", Require: []string{"action-token"}, ActionMin: "2h"},
		"lifetime over a week":  {Board: "x", ActionTTL: "169h"},
	} {
		if _, err := admin.CreateBoard(ctx, r); wire.CodeOf(err) != wire.CodeInvalidRequest {
			t.Errorf("%s: got %v, want invalid_request", name, err)
		}
	}
	alice, bob := connect("alice", "", key), connect("bob", "", key)
	submit := func(c *client.Client, in client.Increment) (client.Receipt, wire.Code) {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		receipt, err := c.Submit(ctx, in)
		return receipt, codeOf(err)
	}
	start := func(c *client.Client, r client.ActionRequest) client.Action {
		t.Helper()
		action, err := c.StartAction(ctx, r)
		if err != nil {
			t.Fatal(err)
		}
		return action
	}

	if _, code := submit(alice, client.Increment{
		User: "alice", Delta: 5,
		Board: "timed",
	}); code != wire.CodeRuleViolated {
		t.Errorf("without an action token: got %q, want rule_violated", code)
	}
	maxDelta := int64(100)
	action := start(alice, client.ActionRequest{Board: "timed", MaxDelta: &maxDelta})
	end := client.Increment{
		User: "alice", Delta: 100, Board: "timed", EventID: "run-1",
		ActionToken: action.ActionToken,
	}
	for name, edit := range map[string]func(*client.Increment){
		"beyond its limits": func(in *client.Increment) { in.Delta = 101 },
		"on another board":  func(in *client.Increment) { in.Board = "slow" },
		"for an action":     func(in *client.Increment) { in.Action = "kill"; in.Delta = 1 },
		"changed":           func(in *client.Increment) { in.ActionToken = "at1.AAAA" + in.ActionToken[8:] },
	} {
		in := end
		edit(&in)
		want := wire.CodeForbidden
		if in.Delta > 100 {
			want = wire.CodeDeltaOutOfRange
		}
		if _, code := submit(alice, in); code != want {
			t.Errorf("increment %s: got %q, want %q", name, code, want)
		}
	}
	stolen := end
	stolen.User = "bob"
	if _, code := submit(bob, stolen); code != wire.CodeForbidden {
		t.Errorf("another user's token: got %q, want forbidden", code)
	}
	if r, code := submit(alice, end); code != "" || r.NewScore != 100 || r.Replayed {
		t.Errorf("increment of the action: got %+v, %q", r, code)
	}
	if r, code := submit(alice, end); code != "" || r.NewScore != 100 || !r.Replayed {
		t.Errorf("a repeat: got %+v, %q, want its receipt", r, code)
	}
	again := end
	again.EventID = "run-2"
	if _, code := submit(alice, again); code != wire.CodeTokenUsed {
		t.Errorf("another event with its token: got %q, want token_used", code)
	}
	soon := start(alice, client.ActionRequest{Board: "slow"})
	if _, code := submit(alice, client.Increment{
		User: "alice", Delta: 5, Board: "slow",
		ActionToken: soon.ActionToken,
	}); code != wire.CodeRuleViolated {
		t.Errorf("before the minimum duration: got %q, want rule_violated", code)
	}
	var parallel [3]client.Action
	for i := range parallel {
		parallel[i] = start(alice, client.ActionRequest{Board: "brisk"})
	}
	time.Sleep(time.Until(parallel[0].IssuedAt.Add(1300 * time.Millisecond)))
	counted := 0
	for _, a := range parallel {
		in := client.Increment{User: "alice", Delta: 5, Board: "brisk", ActionToken: a.ActionToken}
		switch _, code := submit(alice, in); code {
		case "":
			counted++
		case wire.CodeRuleViolated:
		default:
			t.Errorf("one of three actions at once: got %q", code)
		}
	}
	if elapsed := int(time.Since(parallel[0].IssuedAt).Seconds()); counted < 1 || counted > elapsed {
		t.Errorf("of three actions of 1s at once, %d count after %d s", counted, elapsed)
	}
	wide := int64(1_000_001)
	for name, c := range map[string]struct {
		r    client.ActionRequest
		want wire.Code
	}{
		"for another user": {client.ActionRequest{UserID: "bob", Board: "timed"}, wire.CodeForbidden},
		"wider bounds":     {client.ActionRequest{Board: "timed", MaxDelta: &wide}, wire.CodeInvalidRequest},
		"longer lifetime":  {client.ActionRequest{Board: "timed", TTL: "2h"}, wire.CodeInvalidRequest},
		"shorter duration": {
			client.ActionRequest{Board: "slow", MinDuration: "1m"},
			wire.CodeInvalidRequest,
		},
		"on unknown board": {client.ActionRequest{Board: "nowhere"}, wire.CodeNotFound},
	} {
		if _, err := alice.StartAction(ctx, c.r); codeOf(err) != c.want {
			t.Errorf("an action %s: got %v, want %s", name, err, c.want)
		}
	}
	server := connect("game", auth.ScopeUpdate, key)
	if a := start(server, client.ActionRequest{UserID: "bob", Board: "timed"}); a.UserID != "bob" {
		t.Errorf("a server starts an action for bob: got %+v", a)
	}

	claims := jwt.MapClaims{
		"user_id": "alice", "delta": 7, "event_id": "match-1", "board": "vouched", "iat": time.Now().Unix(),
	}
	match := client.Increment{
		User: "alice", Delta: 7, Board: "vouched", EventID: "match-1",
		Attestation: game.Sign(t, claims),
	}
	for name, c := range map[string]struct {
		attestation string
		want        wire.Code
	}{
		"no attestation":      {"", wire.CodeRuleViolated},
		"of the wrong issuer": {identity.Sign(t, claims), wire.CodeForbidden},
		"of another delta": {game.Sign(t, jwt.MapClaims{
			"user_id": "alice", "delta": 8, "event_id": "match-1",
			"board": "vouched", "iat": time.Now().Unix(),
		}), wire.CodeForbidden},
		"expired": {game.Sign(t, jwt.MapClaims{
			"user_id": "alice", "delta": 7, "event_id": "match-1", "board": "vouched",
			"exp": time.Now().Add(-time.Hour).Unix(),
		}), wire.CodeRuleViolated},
	} {
		in := match
		in.Attestation = c.attestation
		if _, code := submit(alice, in); code != c.want {
			t.Errorf("%s: got %q, want %q", name, code, c.want)
		}
	}
	if r, code := submit(alice, match); code != "" || r.NewScore != 7 {
		t.Errorf("an attested increment: got %+v, %q", r, code)
	}
	match.Attestation = ""
	if r, code := submit(alice, match); code != "" || !r.Replayed {
		t.Errorf("a repeat without it: got %+v, %q, want its receipt", r, code)
	}
	// After three months its event is no longer known. It must not count again.
	h.exec(`select create_ledger_partition(month at time zone 'UTC', (month + interval '1 month') at time zone 'UTC')
from (select date_trunc('month', now() at time zone 'UTC') - n * interval '1 month' from generate_series(2, 4) as n)
    as t(month)`)
	h.exec(`update user_score_histories set recorded_at = recorded_at - interval '3 months'`)
	for name, edit := range map[string]func(jwt.MapClaims){
		"neither exp nor iat": func(c jwt.MapClaims) { delete(c, "iat") },
		"an old iat":          func(c jwt.MapClaims) { c["iat"] = time.Now().AddDate(0, -3, 0).Unix() },
		"an old iat, and an exp in a year": func(c jwt.MapClaims) {
			c["iat"], c["exp"] = time.Now().AddDate(0, -3, 0).Unix(), time.Now().AddDate(1, 0, 0).Unix()
		},
		"an exp in a year": func(c jwt.MapClaims) {
			delete(c, "iat")
			c["exp"] = time.Now().AddDate(1, 0, 0).Unix()
		},
	} {
		old := maps.Clone(claims)
		edit(old)
		match.Attestation = game.Sign(t, old)
		if r, code := submit(alice, match); code != wire.CodeRuleViolated {
			t.Errorf("an attestation of an event of three months ago with %s: got %+v, %q, want rule_violated",
				name, r, code)
		}
	}
	if n := h.sql(`select count(*) from user_score_histories`); n != int64(2+counted) {
		t.Errorf("got %d ledger rows, want %d", n, 2+counted)
	}
}

// codeOf returns the code of a client's error, "" without one.
func codeOf(err error) wire.Code {
	var e *client.Error
	if errors.As(err, &e) {
		return e.Code
	}
	return wire.CodeOf(err)
}
