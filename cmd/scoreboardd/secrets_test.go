package main

import (
	"bytes"
	"os"
	"os/exec"
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
