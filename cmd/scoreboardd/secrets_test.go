package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Neither "scoreboardd config" nor a start-up error contains a secret.
func TestSecretsAreNotPrinted(t *testing.T) {
	t.Parallel()
	secrets := map[string]string{
		"SCOREBOARD_AUTH_JWT_SECRET": "jwt-very-secret-of-more-than-32-bytes",
		"SCOREBOARD_AUTH_MASTER_KEY": "master-very-secret",
		"SCOREBOARD_POSTGRES_URL":    "postgres://u:pg-very-secret@127.0.0.1:1x/db",
		"SCOREBOARD_REDIS_URL":       "redis://:redis-very-secret@127.0.0.1:1x/0",
	}
	for _, args := range [][]string{
		{"config"},
		{"--addr", "127.0.0.1:0", "--ops-addr", "127.0.0.1:0"},
		{"config", "--help"},
	} {
		for spared := range secrets { // one after the other is valid, so that the next is read
			cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
			cmd.Env = append(cmd.Environ(), asDaemon+"=1", "SCOREBOARD_KAFKA_BROKERS=127.0.0.1:1")
			for name, secret := range secrets {
				if name == spared {
					secret = strings.Replace(secret, "1x", "1", 1)
				}
				cmd.Env = append(cmd.Env, name+"="+secret)
			}
			out, err := cmd.CombinedOutput()
			if args[0] == "--addr" && err == nil {
				t.Error("the daemon starts with an invalid URL")
			}
			if bytes.Contains(out, []byte("very-secret")) {
				t.Errorf("%v prints a secret:\n%s", args, out)
			}
		}
	}
}

// A URL that cannot be read is not quoted: which part of it is the password is unknown.
func TestBrokenURLsAreNotPrinted(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "scoreboard.yaml")
	if err := os.WriteFile(file, []byte("auth.jwt_secret: "+strings.Repeat("0123456789", 4)+"\n"), 0o640); err != nil {
		t.Fatal(err)
	}
	const postgres, redis = "postgres://u@127.0.0.1:1/db", "redis://127.0.0.1:1/0"
	show := []string{"config"}
	start := []string{"--addr", "127.0.0.1:0", "--ops-addr", "127.0.0.1:0", "--config", file}
	for name, c := range map[string]struct {
		args            []string
		postgres, redis string
		archive         string
		want            string
	}{
		"keywords": {start, "host=127.0.0.1 port=1 password=PA55 SECR3T", redis, "", "PostgreSQL URL is invalid"},
		"slash":    {start, postgres, "redis://:PA55/SECR3T@127.0.0.1:1/0", "", "Redis URL is invalid"},
		"hash":     {start, postgres, "redis://:PA55#SECR3T@127.0.0.1:1/0", "", "Redis URL is invalid"},
		"cluster database": {
			start, postgres, "redis+cluster://:PA55SECR3T@127.0.0.1:1/1", "",
			"setting redis.url cannot be used: the Redis URL names a database, but a cluster has only database 0",
		},
		"no primary": {start, postgres, "redis+sentinel://:PA55SECR3T@127.0.0.1:1", "", "names no primary"},
		"bucket":     {show, postgres, redis, "s3://PA55:SECR3T/SECR3T@bucket", "s3://********@bucket"},
		"readable file": { // which is said before the address turns out to be another machine's
			slices.Concat(start, []string{"--addr", "192.0.2.1:1"}), postgres, redis, "", "accessible to other users",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), os.Args[0], c.args...)
			cmd.Env = append(cmd.Environ(), asDaemon+"=1", "SCOREBOARD_KAFKA_BROKERS=127.0.0.1:1",
				"SCOREBOARD_AUTH_MASTER_KEY="+strings.Repeat("0123456789abcdef", 4),
				"SCOREBOARD_POSTGRES_URL="+c.postgres, "SCOREBOARD_REDIS_URL="+c.redis,
				"SCOREBOARD_LEDGER_ARCHIVE="+c.archive)
			out, err := cmd.CombinedOutput()
			if err == nil && c.archive == "" {
				t.Error("the daemon starts with an invalid URL")
			}
			if bytes.Contains(out, []byte("PA55")) || bytes.Contains(out, []byte("SECR3T")) ||
				!bytes.Contains(out, []byte(c.want)) {
				t.Errorf("want %q and no secret:\n%s", c.want, out)
			}
		})
	}
}
