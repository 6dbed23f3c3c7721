package main

import (
	"bytes"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/server/devstack"
)

// The scripts' stack is removed when they end, so they cut the banner's hint of how
// to use it.
func TestScriptsCutTheBannersHint(t *testing.T) {
	t.Parallel()
	script, err := os.ReadFile(filepath.Join("..", "..", "deploy", "stack.sh"))
	if err != nil {
		t.Fatal(err)
	}
	cut := regexp.MustCompile(`sed "/\^(.*)/,`).FindSubmatch(script)
	if cut == nil {
		t.Fatal("deploy/stack.sh no longer cuts the banner")
	}
	var out bytes.Buffer
	banner(&out, &devstack.Stack{}, &net.TCPAddr{}, &net.TCPAddr{}, "elsewhere/sbctl.env", time.Second)
	shown, hint, ok := strings.Cut(out.String(), "\n"+string(cut[1]))
	if !ok || !strings.Contains(hint, "sbctl.env") || strings.Contains(shown, "sbctl.env") {
		t.Errorf("cut at %q, got:\n%s", cut[1], out.String())
	}
}
