package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/server/http/auth"
)

// Sessions runs the sbctl scripts against a real server.
func TestSessions(t *testing.T) {
	t.Parallel()
	bin := t.TempDir()
	build := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(bin, "sbctl"), "../sbctl")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build sbctl: %v\n%s", err, out)
	}
	h := newHarness(t)
	d := h.start()
	key, err := h.client(d, "root", auth.ScopeAdmin).CreateKey(t.Context(), client.KeyRequest{Name: "session"})
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			env.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
			env.Setenv("HOME", env.WorkDir)
			env.Setenv("SBCTL_SERVER", d.url)
			env.Setenv("SBCTL_TOKEN", h.token("root", auth.ScopeAdmin+" "+auth.ScopeUpdate))
			env.Setenv("SBCTL_KEY_ID", key.KeyID)
			env.Setenv("SBCTL_KEY_SECRET", key.Secret)
			return nil
		},
	})
}
