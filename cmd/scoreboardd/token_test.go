package main

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/server/http/auth"
)

// daemonCommand runs the daemon's binary with an environment of its own.
func daemonCommand(t *testing.T, env []string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Env = append([]string{asDaemon + "=1", "PATH=" + os.Getenv("PATH"), "GORACE=atexit_sleep_ms=0"}, env...)
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// A token is made offline, and the daemon accepts it.
func TestTokenIsAccepted(t *testing.T) {
	t.Parallel()
	const secret = "SCOREBOARD_AUTH_JWT_SECRET=" + jwtSecret
	stdout, stderr, code := daemonCommand(t, []string{secret}, "token", "--user", "root", "--scope",
		"score:admin,score:update", "--ttl", "2h")
	if code != 0 || stderr != "" {
		t.Fatalf("got exit code %d, %q", code, stderr)
	}
	token, ok := strings.CutSuffix(stdout, "\n")
	if !ok || strings.ContainsAny(token, " \n") {
		t.Errorf("got %q, want one line with the token alone", stdout)
	}
	verifier := auth.NewTokens(jwtSecret, "scoreboard-dev", "scoreboard", time.Now)
	claims, err := verifier.Verify(t.Context(), token)
	if err != nil {
		t.Fatal(err)
	}
	if claims.User != "root" || !claims.Has(auth.ScopeAdmin) || !claims.Has(auth.ScopeUpdate) {
		t.Errorf("got %+v", claims)
	}
	if ttl := time.Until(claims.Expires); ttl > 2*time.Hour || ttl < 2*time.Hour-time.Minute {
		t.Errorf("the token lives for %s, want 2h", ttl)
	}
	// The issuer and the audience are settings, too.
	stdout, _, _ = daemonCommand(t, []string{secret, "SCOREBOARD_AUTH_ISSUER=games", "SCOREBOARD_AUTH_AUDIENCE=eu"},
		"token", "--user", "root")
	eu := auth.NewTokens(jwtSecret, "games", "eu", time.Now)
	if _, err := eu.Verify(t.Context(), strings.TrimSpace(stdout)); err != nil {
		t.Errorf("with another issuer: %v", err)
	}
}

func TestTokenIsRefused(t *testing.T) {
	t.Parallel()
	const secret, jwks = "SCOREBOARD_AUTH_JWT_SECRET=" + jwtSecret, "SCOREBOARD_AUTH_JWKS_URL=https://id.example/keys"
	for name, c := range map[string]struct {
		env  string
		args []string
		code int
		want string
	}{
		"identity provider": {
			jwks,
			[]string{"--user", "root"},
			1,
			"auth.jwks_url is set: the identity provider issues the tokens",
		},
		"no secret":     {"X=", []string{"--user", "root"}, 1, "auth.jwt_secret is not set"},
		"no user":       {secret, nil, 2, "--user is required"},
		"invalid user":  {secret, []string{"--user", "a b"}, 2, `--user "a b"`},
		"unknown scope": {secret, []string{"--user", "root", "--scope", "score:admn"}, 2, "did you mean score:admin?"},
		"too long":      {secret, []string{"--user", "root", "--ttl", "25h"}, 2, "auth.max_token_ttl, not 25h"},
		"too short":     {secret, []string{"--user", "root", "--ttl", "0s"}, 2, "--ttl must be 1s to 24h"},
		"absolute maximum": {
			secret,
			[]string{"--user", "root", "--ttl", "721h", "--auth-max-token-ttl", "0"},
			2,
			"--ttl must be 1s to 720h",
		},
	} {
		stdout, stderr, code := daemonCommand(t, []string{c.env}, append([]string{"token"}, c.args...)...)
		if stdout != "" || code != c.code || !strings.Contains(stderr, c.want) {
			t.Errorf("%s: got %q, %q and exit code %d, want %q and %d", name, stdout, stderr, code, c.want, c.code)
		}
		if strings.Contains(stderr, jwtSecret) {
			t.Errorf("%s: the message has the secret", name)
		}
	}
}

// A daemon that could accept no token does not start; one that needs none does.
func TestStartNeedsTokenVerification(t *testing.T) {
	t.Parallel()
	env := []string{
		"SCOREBOARD_POSTGRES_URL=postgres://127.0.0.1:1/none", "SCOREBOARD_REDIS_URL=redis://127.0.0.1:1",
		"SCOREBOARD_TRANSPORT=direct", "SCOREBOARD_ADDR=127.0.0.1:0", "SCOREBOARD_OPS_ADDR=127.0.0.1:0",
		"SCOREBOARD_AUTH_MASTER_KEY=" + backends.MasterKey,
	}
	for _, roles := range []string{"api,relay,projector", "read", "gateway"} {
		_, stderr, code := daemonCommand(t, env, "--roles", roles)
		if code != 1 || !strings.Contains(stderr, "auth.jwks_url or auth.jwt_secret must be set") {
			t.Errorf("%s: got exit code %d and %q, want a refusal", roles, code, stderr)
		}
	}
}
