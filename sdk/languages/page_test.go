// Package languages has an example for each language whose client is generated from the OpenAPI document. They run in
// .ci/languages.
package languages

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var example = regexp.MustCompile(`(?ms)^ *// begin\n(.*?)^ *// end$`)

// docs/languages.md shows the lines of the examples that run.
func TestPageShowsExamples(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/languages.md")
	if err != nil {
		t.Fatal(err)
	}
	for language, file := range map[string]string{
		"java": "java/Example.java", "php": "php/example.php", "kotlin": "kotlin/Example.kt",
		"rust": "rust/example.rs", "cpp": "cpp/example.cpp",
	} {
		source, err := os.ReadFile(filepath.FromSlash(file))
		if err != nil {
			t.Fatal(err)
		}
		found := example.FindSubmatch(source)
		if found == nil {
			t.Errorf("%s has no lines between // begin and // end", file)
			continue
		}
		lines := string(found[1])
		indent := lines[:len(lines)-len(strings.TrimLeft(lines, " "))]
		lines = strings.TrimPrefix(strings.ReplaceAll("\n"+lines, "\n"+indent, "\n"), "\n")
		if want := "```" + language + "\n" + lines + "```\n"; !strings.Contains(string(page), want) {
			t.Errorf("docs/languages.md lacks the lines of %s:\n%s", file, want)
		}
	}
}
