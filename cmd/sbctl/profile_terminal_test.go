//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// On a terminal sbctl asks for what the flags do not give, and shows no secret.
func TestProfileAddAsksForMissingValues(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	term := onTerminalWith(t, "http://127.0.0.1:1", "HOME="+home, "profile", "add", "staging", "--key-id", "k7")
	term.shows("Server [http://127.0.0.1:8080]: ")
	term.press("scores.example.com:8080\r")
	term.shows("Token (hidden, empty for none): ")
	term.press("t0ken\r")
	term.shows("Secret of the signing key (hidden): ")
	term.press("s3cret\r")
	term.shows("secret   file ~/.config/sbctl/secrets/staging.key_secret")
	if out := term.drawn(); strings.Contains(out, "t0ken") || strings.Contains(out, "s3cret") {
		t.Errorf("a secret was shown: %q", out)
	}
	term.ends(0)
	for name, want := range map[string]string{"staging.token": "t0ken\n", "staging.key_secret": "s3cret\n"} {
		got, err := os.ReadFile(filepath.Join(home, ".config", "sbctl", "secrets", name))
		if err != nil || string(got) != want {
			t.Errorf("%s: got %q, %v, want %q", name, got, err, want)
		}
	}
	config, err := os.ReadFile(filepath.Join(home, ".config", "sbctl", "config.yaml"))
	if err != nil || !strings.Contains(string(config), "server: http://scores.example.com:8080\n    key_id: k7\n") {
		t.Errorf("got %q, %v", config, err)
	}
}

// Ctrl-C at a hidden prompt ends the program, and the terminal shows what is typed again.
func TestInterruptAtHiddenPrompt(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	const nowhere = "http://127.0.0.1:1"
	term := onTerminalWith(t, nowhere, "HOME="+home, "profile", "add", "x", "--server", nowhere)
	term.shows("Token (hidden")
	term.press("\x03")
	term.shows("add was interrupted")
	term.ends(130)
	if _, err := os.Stat(filepath.Join(home, ".config")); !os.IsNotExist(err) {
		t.Errorf("something was written: %v", err)
	}
}
