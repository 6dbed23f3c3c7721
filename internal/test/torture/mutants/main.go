// Command mutants checks the torture test: it builds the daemon with one guard
// switched off at a time, and requires a violation of a named rule.
//
//	go run ./internal/test/torture/mutants            all of them, about a minute each
//	go run ./internal/test/torture/mutants freeze     those whose name contains this
//
// Exit status: 0 all were found, 3 some were not, 1 it could not run.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"
)

// A run ends within this time, or counts as not found.
const runTime = 4 * time.Minute

// seed of every run, and for how long it breaks things.
const (
	seed     = "1"
	duration = "25s"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	missed, err := check(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
	if missed > 0 {
		os.Exit(3)
	}
}

func check(ctx context.Context, names []string) (missed int, err error) {
	dir, err := os.MkdirTemp("", "mutants-")
	if err != nil {
		return 0, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	torture := filepath.Join(dir, "torture")
	if err := build(ctx, torture, "./internal/test/torture"); err != nil {
		return 0, err
	}
	fmt.Println("| mutant | seed, faults | found after | violations |\n|---|---|---|---|")
	for _, m := range mutants {
		if len(names) > 0 && !slices.ContainsFunc(names, func(n string) bool { return strings.Contains(m.name, n) }) {
			continue
		}
		found, took, err := m.run(ctx, dir, torture)
		if err != nil {
			return missed, fmt.Errorf("%s: %w", m.name, err)
		}
		if !slices.ContainsFunc(m.rules, func(rule string) bool { return strings.Contains(found, rule+":") }) {
			missed++
			found = "**not found**, only " + found
		}
		fmt.Printf("| %s | %s, %s | %s | %s |\n", m.name, seed, m.args[1], took.Round(time.Second), found)
	}
	return missed, nil
}

var violations = regexp.MustCompile(`\d+ violations: map\[(.*)\]`)

// run builds the mutant and returns what the torture test finds, as "rule:times".
func (m *mutant) run(ctx context.Context, dir, torture string) (found string, took time.Duration, err error) {
	overlay, err := m.overlay(dir)
	if err != nil {
		return "", 0, err
	}
	daemon := filepath.Join(dir, "scoreboardd")
	if err := build(ctx, daemon, "-overlay", overlay, "./cmd/scoreboardd"); err != nil {
		return "", 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, runTime)
	defer cancel()
	began := time.Now()
	args := append([]string{"--binary", daemon, "--seed", seed, "--duration", duration}, m.args...)
	cmd := exec.CommandContext(ctx, torture, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 30 * time.Second
	out, err := cmd.CombinedOutput()
	if exit := (*exec.ExitError)(nil); err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 3) {
		return "", 0, fmt.Errorf("the torture test: %w\n%s", err, out[max(0, len(out)-2000):])
	}
	if match := violations.FindSubmatch(out); match != nil {
		return string(match[1]), time.Since(began), nil
	}
	return "no violation", time.Since(began), nil
}

// overlay writes the changed file and the description that go build wants.
func (m *mutant) overlay(dir string) (path string, err error) {
	text, err := m.apply(".")
	if err != nil {
		return "", err
	}
	changed := filepath.Join(dir, "changed"+filepath.Ext(m.file))
	if err := os.WriteFile(changed, text, 0o600); err != nil {
		return "", err
	}
	file, err := filepath.Abs(m.file)
	if err != nil {
		return "", err
	}
	list, err := json.Marshal(map[string]map[string]string{"Replace": {file: changed}})
	if err != nil {
		return "", err
	}
	path = filepath.Join(dir, "overlay.json")
	return path, os.WriteFile(path, list, 0o600)
}

// apply returns the changed file.
func (m *mutant) apply(root string) ([]byte, error) {
	text, err := os.ReadFile(filepath.Join(root, m.file))
	if err != nil {
		return nil, err
	}
	if n := bytes.Count(text, []byte(m.old)); n != 1 {
		return nil, fmt.Errorf("mutant %q: its text occurs %d times in %s, want once", m.name, n, m.file)
	}
	return bytes.Replace(text, []byte(m.old), []byte(m.new), 1), nil
}

func build(ctx context.Context, to string, args ...string) error {
	cmd := exec.CommandContext(ctx, "go", append([]string{"build", "-o", to}, args...)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build: %w\n%s", err, out)
	}
	return nil
}
