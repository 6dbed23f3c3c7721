package main

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// Another development stack may rewrite devEnv; messages still name the server in
// use.
func TestMessagesNameTheServerInUse(t *testing.T) {
	t.Chdir(t.TempDir())
	dev := func(address string) {
		if err := os.MkdirAll(filepath.Dir(devEnv), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(devEnv, []byte("SBCTL_SERVER="+address+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p := newProgram(&process{stderr: io.Discard, env: map[string]string{"HOME": t.TempDir()}})
	dev("http://127.0.0.1:1")
	c, err := p.client()
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
	dev("http://127.0.0.1:2")
	if got := p.explain(syscall.ECONNREFUSED); !strings.Contains(got, "http://127.0.0.1:1 ") {
		t.Errorf("got %q", got)
	}
}

// An operations address needs no scheme; without an address it is derived.
func TestOperationsAddress(t *testing.T) {
	t.Parallel()
	server := connection{Server: option{Value: "http://example.com:8080"}}
	for _, c := range []struct {
		set, flag, want string
	}{
		{"", "127.0.0.1:9", "http://127.0.0.1:9"},
		{"10.0.0.1:7", "https://ops.example.com", "https://ops.example.com"},
		{"10.0.0.1:7", "", "http://10.0.0.1:7"},
		{"", "", "http://example.com:8081"},
	} {
		s := server
		s.Ops.Value = c.set
		if got := opsServer(s, c.flag).Value; got != c.want {
			t.Errorf("set %q, flag %q: got %q, want %q", c.set, c.flag, got, c.want)
		}
	}
}

// The token and the key of a profile are sent to its server only, in any spelling.
func TestProfileTokenStaysWithItsServer(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	dir := filepath.Join(home, ".config", "sbctl")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	const profiles = `profiles:
  staging:
    server: https://scores.example
    key_id: k1
    token: {env: STAGING_TOKEN}
    key_secret: {env: STAGING_SECRET}
`
	if err := os.WriteFile(filepath.Join(dir, "config.yaml"), []byte(profiles), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, flag, variable string
		sent                 bool
	}{
		{"its own server", "", "", true},
		{"another spelling", "https://SCORES.example:443", "", true},
		{"another server by flag", "https://evil.example", "", false},
		{"another server by variable", "", "https://evil.example", false},
		{"without TLS", "http://scores.example", "", false},
		{"another port", "https://scores.example:8443", "", false},
	} {
		p := newProgram(&process{stderr: io.Discard, env: map[string]string{
			"HOME": home, "SBCTL_SERVER": c.variable, "STAGING_TOKEN": "secret-token", "STAGING_SECRET": "s",
		}})
		p.profiles.chosen, p.server = "staging", c.flag
		s, err := p.resolve()
		if err != nil {
			t.Fatal(err)
		}
		got := s.Token.Value + s.KeyID.Value + s.KeySecret.Value
		if want := map[bool]string{true: "secret-tokenk1s"}[c.sent]; got != want {
			t.Errorf("%s: sent %q to %s, want %q", c.name, got, s.Server.Value, want)
		}
	}
}

// The end of a line that Windows leaves in a variable, a file or the output of a command is no
// part of a token or a secret.
func TestSecretsWithoutLineEnds(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	dir := filepath.Join(home, ".config", "sbctl")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		filepath.Join(dir, "config.yaml"): "profiles:\r\n  one:\r\n    server: https://scores.example\r\n" +
			"    key_id: k1\r\n    token: {file: ~/token}\r\n    key_secret: {command: [printf, 's3cret\\r\\n']}\r\n" +
			"  two:\r\n    server: https://scores.example\r\n    key_id: k1\r\n" +
			"    token: {env: A_TOKEN}\r\n    key_secret: {env: A_SECRET}\r\n",
		filepath.Join(home, "token"): "a.b.c\r\n",
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, env := range map[string]map[string]string{
		"file and command": {"SBCTL_PROFILE": "one"},
		"variables":        {"SBCTL_PROFILE": "two", "A_TOKEN": "a.b.c\r\n", "A_SECRET": "s3cret\r"},
		"SBCTL variables": {
			"SBCTL_SERVER": "https://scores.example\r\n", "SBCTL_TOKEN": "a.b.c\r", "SBCTL_KEY_ID": "k1\r",
			"SBCTL_KEY_SECRET": "s3cret\r\n",
		},
	} {
		env["HOME"] = home
		p := newProgram(&process{stderr: io.Discard, env: env})
		p.profiles.chosen = env["SBCTL_PROFILE"]
		s, err := p.resolve()
		got := []string{s.Server.Value, s.Token.Value, s.KeyID.Value, s.KeySecret.Value}
		if err != nil || !slices.Equal(got, []string{"https://scores.example", "a.b.c", "k1", "s3cret"}) {
			t.Errorf("%s: got %q, %v", name, got, err)
		}
	}
}
