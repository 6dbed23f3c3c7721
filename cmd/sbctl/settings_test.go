package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// Another stack in the same folder writes its own address; what is said stays
// about the one that is dialled.
func TestWhatIsDialledIsNamed(t *testing.T) {
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
