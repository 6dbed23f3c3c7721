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
