package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The script for bash completes in a bash without the package bash-completion, also words with =.
func TestBashCompletesWithoutPackage(t *testing.T) {
	t.Parallel()
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Fatal(err)
	}
	var script bytes.Buffer
	code := run(t.Context(), []string{"completion", "bash"}, strings.NewReader(""), &script, os.Stderr, nil)
	if code != exitOK {
		t.Fatalf("exit status %d", code)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	if err := os.Symlink(self, filepath.Join(bin, "sbctl")); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ line, words, want string }{
		{"sbctl boa", "sbctl boa", "board"},
		{"sbctl board create x --period da", "sbctl board create x --period da", "daily"},
		{"sbctl board create x --period=da", "sbctl board create x --period = da", "daily"},
		{"sbctl ", "sbctl ''", "accept"},
	} {
		test := script.String() + `
COMP_LINE='` + c.line + `' COMP_POINT=${#COMP_LINE} COMP_TYPE=9
COMP_WORDS=(` + c.words + `) COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
__start_sbctl
printf '%s\n' "${COMPREPLY[@]}"
`
		cmd := exec.CommandContext(t.Context(), bash, "--noprofile", "--norc", "-c", test)
		cmd.Env = []string{"PATH=" + bin + ":/usr/bin:/bin", "HOME=" + t.TempDir(), "GORACE=atexit_sleep_ms=0"}
		out, err := cmd.Output() // the builtin compopt complains outside a completion
		if first, _, _ := strings.Cut(string(out), "\n"); err != nil || !strings.HasPrefix(first, c.want) {
			t.Errorf("%q: got %v and %s, want %s", c.line, err, out, c.want)
		}
	}
}
