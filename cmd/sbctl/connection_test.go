package main

import (
	"io"
	"os"
	"path/filepath"
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
	p := &program{stderr: io.Discard, env: map[string]string{"HOME": t.TempDir()}}
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
	p := &program{}
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
		if got := p.opsServer(s, c.flag).Value; got != c.want {
			t.Errorf("set %q, flag %q: got %q, want %q", c.set, c.flag, got, c.want)
		}
	}
}
