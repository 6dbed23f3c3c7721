package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Variable names the file of a Go program built with an overlay. It holds an offset in
// seconds, as +600.000, and is read every 50 ms.
const Variable = "TORTURE_CLOCK"

// Available returns an error that says what is missing on this machine.
func Available() error {
	if library() == "" {
		return errors.New("libfaketime is not installed (Debian: apt install libfaketime)")
	}
	return nil
}

func library() string {
	found, _ := filepath.Glob("/usr/lib/*/faketime/libfaketime.so.1")
	if len(found) == 0 {
		return ""
	}
	return found[0]
}

// Faketime is the environment of a C program that follows the offset in a file. It
// reads the file once a second.
func Faketime(path string) []string {
	return []string{
		"LD_PRELOAD=" + library(), "FAKETIME_TIMESTAMP_FILE=" + path, "FAKETIME_CACHE_DURATION=1",
		"FAKETIME_DONT_FAKE_MONOTONIC=1", "FAKETIME_DISABLE_SHM=1",
	}
}

// changes are the overlay: each text occurs once in the source of package time.
var changes = [][2]string{
	{"import (\n", "import (\n\t\"sync/atomic\"\n\t\"syscall\"\n"},
	{
		"\tsec, nsec, mono := runtimeNow()\n\tif mono == 0 {",
		"\tsec, nsec, mono := runtimeNow()\n\tsec, nsec = tortureMove(sec, nsec)\n\tif mono == 0 {",
	},
}

// added is appended to the source.
const added = `
var tortureMillis atomic.Int64

func tortureMove(sec int64, nsec int32) (int64, int32) {
	millis := tortureMillis.Load()
	sec, n := sec+millis/1000, int64(nsec)+millis%1000*1e6
	for ; n < 0; n += 1e9 {
		sec--
	}
	return sec + n/1e9, int32(n % 1e9)
}

func init() {
	path, ok := syscall.Getenv("` + Variable + `")
	if !ok || path == "" {
		return
	}
	tortureRead(path)
	go func() {
		for {
			Sleep(50 * Millisecond)
			tortureRead(path)
		}
	}()
}

func tortureRead(path string) {
	fd, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	var text [32]byte
	n, _ := syscall.Read(fd, text[:])
	_ = syscall.Close(fd)
	var millis, sign int64 = 0, 1
	for _, c := range text[:max(n, 0)] {
		switch {
		case c == '-':
			sign = -1
		case c >= '0' && c <= '9':
			millis = millis*10 + int64(c-'0')
		}
	}
	tortureMillis.Store(sign * millis)
}
`

// Overlay writes into dir what go build -overlay needs, and returns the path of it.
func Overlay(ctx context.Context, dir string) (path string, err error) {
	out, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
	if err != nil {
		return "", fmt.Errorf("find the Go sources: %w", err)
	}
	original := filepath.Join(strings.TrimSpace(string(out)), "src", "time", "time.go")
	text, err := os.ReadFile(original)
	if err != nil {
		return "", fmt.Errorf("read package time: %w", err)
	}
	for _, c := range changes {
		if n := bytes.Count(text, []byte(c[0])); n != 1 {
			return "", fmt.Errorf("%s has %q %d times, want once", original, c[0], n)
		}
		text = bytes.Replace(text, []byte(c[0]), []byte(c[1]), 1)
	}
	changed := filepath.Join(dir, "time.go")
	if err := os.WriteFile(changed, append(text, added...), 0o600); err != nil { //nolint:gosec // in dir
		return "", fmt.Errorf("write package time: %w", err)
	}
	list, err := json.Marshal(map[string]map[string]string{"Replace": {original: changed}})
	if err != nil {
		return "", fmt.Errorf("write the overlay: %w", err)
	}
	path = filepath.Join(dir, "clock.json")
	return path, os.WriteFile(path, list, 0o600)
}
