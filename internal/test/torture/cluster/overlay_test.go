package cluster

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

const program = `package main

import (
	"fmt"
	"time"
)

func main() {
	began := time.Now()
	time.Sleep(200 * time.Millisecond)
	fmt.Println(time.Now().UnixMilli(), time.Since(began).Milliseconds())
}
`

func TestOverlayMovesTheClock(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	overlay, err := Overlay(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(dir, "program")
	build := exec.CommandContext(t.Context(),
		"go", "build", "-o", binary, "-overlay", overlay, filepath.Join(dir, "main.go"))
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, offset := range []float64{0, 600, -600, -0.25} {
		file := filepath.Join(dir, "clock")
		if err := os.WriteFile(file, []byte(strconv.FormatFloat(offset, 'f', 3, 64)), 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), binary)
		cmd.Env = append(os.Environ(), Variable+"="+file)
		out, err := cmd.Output()
		now := time.Now()
		fields := strings.Fields(string(out))
		if err != nil || len(fields) != 2 {
			t.Fatalf("got %q, %v", out, err)
		}
		millis, _ := strconv.ParseInt(fields[0], 10, 64)
		took, _ := strconv.Atoi(fields[1])
		want := now.Add(time.Duration(offset * float64(time.Second)))
		if d := want.Sub(time.UnixMilli(millis)); d < -200*time.Millisecond || d > 200*time.Millisecond {
			t.Errorf("offset %v: the clock is off by %s", offset, d)
		}
		if took < 200 || took > 2000 {
			t.Errorf("offset %v: 200 ms took %d", offset, took)
		}
	}
}
