package server_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// foreign matches the spellings that are not ours. We write British English, with -ise, and catalog.
// Names that others have chosen keep theirs: authorize, the color of CSS, canceled in Go.
var foreign = regexp.MustCompile(`(?i)\b(recogniz\w*|synchroniz\w*|organiz\w*|anonymiz\w*|initializ\w*|` +
	`prioritiz\w*|summarize[sd]|serialize[sd]|finalize[sd]|normalize[sd]|analyze[sd]|analyzing|optimize[sd]|` +
	`minimize[sd]|behaviors?|favor\w*|honor(s|ed)|labeled|neighbors?|catalogues?|a canceled|gray)\b`)

// retired are words that the glossary (docs/concepts.md) has replaced. Decisions are history.
var retired = regexp.MustCompile(`(?i)\b(anew|buried|films?)\b`)

// TestSpelling checks the pages, and the comments and messages of the source.
func TestSpelling(t *testing.T) {
	t.Parallel()
	code := regexp.MustCompile("(?s)```.*?```|`[^`\n]*`")
	suspect := make(map[string]bool)
	err := filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		switch name := entry.Name(); {
		case entry.IsDir() && (strings.HasPrefix(name, ".") && name != ".." || name == "node_modules" ||
			name == "dialect" || name == "testdata" || name == "out"):
			return fs.SkipDir // server/http/dialect has the words of other specifications
		case entry.IsDir() || name == "spelling_test.go":
		case filepath.Ext(name) == ".md":
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			checkSpelling(t, suspect, path, code.ReplaceAllString(string(text), ""))
		case filepath.Ext(name) == ".go":
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
			if err != nil {
				return err
			}
			for _, comment := range file.Comments {
				checkSpelling(t, suspect, path, comment.Text())
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if literal, ok := n.(*ast.BasicLit); ok && literal.Kind == token.STRING {
					if text, err := strconv.Unquote(literal.Value); err == nil && strings.Contains(text, " ") {
						checkSpelling(t, suspect, path, text)
					}
				}
				return true
			})
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// checkSpelling remembers each word that it has seen in suspect, and whether it may be part of
// a foreign spelling: only lines with such a word are matched, which is slow.
func checkSpelling(t *testing.T, suspect map[string]bool, path, text string) {
	t.Helper()
	for line := range strings.Lines(text) {
		found := false
		for _, word := range strings.FieldsFunc(line, betweenWords) {
			is, known := suspect[word]
			if !known {
				is = foreign.MatchString("a "+word) || retired.MatchString(word)
				suspect[word] = is
			}
			found = found || is
		}
		if !found {
			continue
		}
		word := foreign.FindString(line)
		if word == "" && filepath.Base(filepath.Dir(path)) != "decisions" {
			word = retired.FindString(line)
		}
		if word != "" {
			t.Errorf("%s: %q in %q: write it as elsewhere", path, word, strings.TrimSpace(line))
		}
	}
}

// betweenWords reports whether a character is outside of what \b of a regular expression bounds.
func betweenWords(r rune) bool {
	return r != '_' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
}
