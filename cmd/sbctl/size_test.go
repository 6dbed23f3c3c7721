package main

import (
	"bytes"
	"os"
	"regexp"
	"strings"
	"testing"
)

// The examples of docs/scale.md are what the program prints; -update writes them.
func TestSizesInTheDocs(t *testing.T) {
	t.Parallel()
	const page = "../../docs/scale.md"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	examples := 0
	block := regexp.MustCompile("(?s)```console\n\\$ sbctl (size [^\n]+)\n.*?```")
	want := block.ReplaceAllFunc(text, func(b []byte) []byte {
		examples++
		command, _, _ := strings.Cut(strings.TrimPrefix(string(b), "```console\n$ sbctl "), "\n")
		var out, errs bytes.Buffer
		if code := run(t.Context(), strings.Fields(command), nil, &out, &errs, nil); code != 0 {
			t.Errorf("sbctl %s: exit code %d, %s", command, code, errs.String())
		}
		return []byte("```console\n$ sbctl " + command + "\n" + out.String() + "```")
	})
	if examples < 3 {
		t.Errorf("the page has %d examples, want 3: two loads and the coefficients", examples)
	}
	if *update {
		if err := os.WriteFile(page, want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if !bytes.Equal(text, want) {
		t.Errorf("%s has other figures than the program; run the test with -update", page)
	}
}

// A figure that stands on several pages is the same on all of them: that of the program, or of the page
// that has the measurement.
func TestFiguresOnSeveralPagesAgree(t *testing.T) {
	t.Parallel()
	text := func(page string) string {
		b, err := os.ReadFile("../../" + page)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	var out bytes.Buffer
	if code := run(t.Context(), []string{"size", "--coefficients"}, nil, &out, &out, nil); code != 0 {
		t.Fatalf("exit code %d: %s", code, &out)
	}
	coefficient := func(what string) string {
		m := regexp.MustCompile(`(?m)^` + what + ` +([0-9.]+) `).FindStringSubmatch(out.String())
		if m == nil {
			t.Fatalf("no coefficient %q in\n%s", what, &out)
		}
		return m[1]
	}
	bytesPerUser := coefficient("Redis, per user and board")
	viewer := coefficient("gateway, CPU per message to a viewer")
	const capacity, performance, scale = "docs/runbook/capacity.md", "docs/performance.md", "docs/scale.md"
	for _, f := range []struct{ page, pattern, want string }{
		{"docs/redis.md", `about (\d+) bytes a user`, bytesPerUser},
		{"docs/runbook/redis-memory.md", `about (\d+) bytes a user`, bytesPerUser},
		{capacity, `(\d+) bytes a user and board`, bytesPerUser},
		{performance, `per user and board \([^)]*\) \| (\d+) bytes`, bytesPerUser},
		{scale, `CPU time of a message to a viewer \(([0-9.]+) µs`, viewer},
		{performance, `([0-9.]+) µs of CPU per delivery`, viewer},
		{scale, `memory of a connection \(([0-9.]+) KB\)`, "7.3"},
		{performance, `an idle WebSocket \| ([0-9.]+) KB`, "7.3"},
		{scale, `One PostgreSQL was measured up to ([0-9,]+) increments/s`, "17,344"},
		{scale, `measured with one PostgreSQL server \(([0-9,]+)\)`, "17,344"},
		{performance, `256 connections \| ([0-9,]+)/s, p99`, "15,544"},
		{"README.md", `signed, recorded[^|]*\| ([0-9,]+ \| [0-9,]+) \|`, "11,775 | 17,344"},
		{performance, `scoreboard \(e71298ee\), two runs \| [^|]*\| ([0-9,]+),`, "11,775"},
		{"docs/history-operations.md", `checkpoint takes ([0-9.]+) bytes per user`, "7.4"},
		{"docs/settings.md", `takes about ([0-9.]+) bytes for each user`, "7.4"},
		{"docs/dependencies.md", `added since \| not measured \| ([0-9.]+) MB`, "60.9"},
		{performance, "size of `scoreboardd`, `sbctl` \\| ([0-9.]+),", "60.9"},
	} {
		m := regexp.MustCompile(f.pattern).FindStringSubmatch(text(f.page))
		if m == nil || m[1] != f.want {
			t.Errorf("%s: %q finds %q, want %s", f.page, f.pattern, m, f.want)
		}
	}
}
