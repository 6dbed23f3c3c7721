package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/internal/test/fixtures"
)

var update = flag.Bool("update", false, "rewrite the pages")

const vectors = "../../testdata/signing.json"

// snippets are the files that the page shows, each with the command that runs it.
var snippets = []struct {
	language, fence, file string
	command               []string
}{
	{"Shell", "bash", "sign.sh", []string{"bash", "sign.sh"}},
	{"Python", "python", "sign.py", []string{"python3", "sign.py"}},
	{"JavaScript", "js", "sign.mjs", []string{"node", "sign.mjs"}},
	// One tier of compilation: the other takes longer than the program.
	{"Java", "java", "Sign.java", []string{"java", "-XX:TieredStopAtLevel=1", "Sign.java"}},
	{"Go", "go", "main.go", []string{"go", "run", "."}},
}

// Each snippet, run with its language, prints the signatures of the vectors.
func TestSnippets(t *testing.T) {
	t.Parallel()
	var want strings.Builder
	all := fixtures.ReadSigningVectors(t, vectors)
	for _, v := range all.Fields {
		fmt.Fprintln(&want, v.Signature)
	}
	for _, v := range all.Headers {
		fmt.Fprintln(&want, v.Signature)
	}
	for _, s := range snippets {
		t.Run(s.language, func(t *testing.T) {
			t.Parallel()
			if s.file == "Sign.java" {
				backends.Program(t, "javac") // a runtime alone cannot compile the file
			}
			cmd := exec.CommandContext(t.Context(), backends.Program(t, s.command[0]), s.command[1:]...)
			cmd.Stderr = os.Stderr
			out, err := cmd.Output()
			if err != nil || string(out) != want.String() {
				t.Errorf("got %v and\n%swant\n%s", err, out, &want)
			}
		})
	}
}

// The pages of this folder, and what surrounds the part of each that is written here.
const (
	vectorsPage, snippetsPage = "../../docs/signing.md", "../../docs/signing-examples.md"
	begin                     = "<!-- Written by go test ./examples/signing -update, "
	end                       = "<!-- Until here. -->\n"
)

// The pages show the vectors and the snippets as they are.
func TestPagesUpToDate(t *testing.T) {
	t.Parallel()
	var shown, code strings.Builder
	writeVectors(&shown, fixtures.ReadSigningVectors(t, vectors))
	for _, s := range snippets {
		text, err := os.ReadFile(s.file)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&code, "\n## %s\n\n```%s\n%s```\n", s.language, s.fence, text)
	}
	for page, part := range map[string]string{vectorsPage: shown.String(), snippetsPage: code.String()} {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		before, rest, found := strings.Cut(string(text), begin)
		source, rest, foundSource := strings.Cut(rest, "\n")
		_, after, foundEnd := strings.Cut(rest, end)
		if !found || !foundSource || !foundEnd {
			t.Errorf("%s lacks the marks", page)
			continue
		}
		want := before + begin + source + "\n" + part + "\n" + end + after
		if *update {
			if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
				t.Error(err)
			}
		} else if want != string(text) {
			t.Errorf("%s is outdated; rewrite it with: go test ./examples/signing -update", page)
		}
	}
}

func writeVectors(w *strings.Builder, all *fixtures.SigningVectors) {
	fmt.Fprintf(w, "\n## Test vectors\n\nWith the secret `%s` of the key `%s`; "+
		"[testdata/signing.json](../testdata/signing.json) has the same as JSON.\n\nIn the body:\n",
		all.Secret, all.KeyID)
	for _, v := range all.Fields {
		fmt.Fprintf(w, "\n- %s:\n\n      %s\n      %s\n", v.Name, v.Text, v.Signature)
	}
	w.WriteString("\nIn the headers, each with its body and the value of `X-Scoreboard-Signature`:\n")
	for _, v := range all.Headers {
		body := v.Body
		if body == "" {
			body = "(none)"
		}
		fmt.Fprintf(w, "\n- %s:\n\n      %s\n\n      %s\n\n      %s\n", v.Name, body,
			strings.ReplaceAll(v.Text, "\n", "\n      "), v.Signature)
	}
}
