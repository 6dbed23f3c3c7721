package server_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/scoreboard/scoreboard/server/config"
)

// TestDialectNamesExist compares our names in docs/dialect-names.md and docs/feeds.md,
// which map those of the specifications, with the settings, the metrics, the keys of
// Redis and the schema.
func TestDialectNamesExist(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/dialect-names.md")
	if err != nil {
		t.Fatal(err)
	}
	source, schema := filesOf(t, ".", ".go"), filesOf(t, "../migrations", ".sql")
	var settings []string
	for _, v := range config.Defaults() {
		settings = append(settings, v.Name)
	}
	span := regexp.MustCompile("`([^`]+)`")
	checked := make(map[string]int)
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
		if len(cells) != 4 || len(strings.TrimSpace(cells[0])) != 1 {
			continue // not of a table with the columns specification, name there, ours, remark
		}
		names := span.FindAllStringSubmatch(cells[2], -1)
		if len(names) == 0 && strings.TrimSpace(cells[2]) != "none" {
			t.Errorf("%s: want our names, or none", line)
		}
		checked[strings.TrimSpace(cells[0])]++
		for _, name := range names {
			if !exists(name[1], settings, source, schema) {
				t.Errorf("%s does not exist: %s", name[1], line)
			}
		}
	}
	for specification, minimum := range map[string]int{"A": 9, "B": 35, "C": 25, "D": 4, "E": 20} {
		if checked[specification] < minimum {
			t.Errorf("%d rows of specification %s, want at least %d", checked[specification], specification, minimum)
		}
	}
	feeds, err := os.ReadFile("../docs/feeds.md")
	if err != nil {
		t.Fatal(err)
	}
	ours := regexp.MustCompile("`(scoreboard_[a-z_]+|(?:mirror|kafka|streams)\\.[a-z_.]+)`")
	for _, name := range ours.FindAllStringSubmatch(string(feeds), -1) {
		if !exists(name[1], settings, source, schema) {
			t.Errorf("docs/feeds.md names %s, which does not exist", name[1])
		}
	}
}

// exists reports whether a name is a setting, a metric, a key of Redis, or a table, column
// or index.
func exists(name string, settings []string, source, schema map[string]string) bool {
	if slices.Contains(settings, name) {
		return true
	}
	if strings.HasPrefix(name, "scoreboard_") {
		page, err := os.ReadFile(metricsPage)
		return err == nil && strings.Contains(string(page), "\n| `"+name+"` |")
	}
	if strings.HasPrefix(name, "sb:") {
		prefix, _, tagged := strings.Cut(name, "{")
		if tagged {
			prefix += "{"
		}
		for _, text := range source {
			if strings.Contains(text, `"`+prefix) {
				return true
			}
		}
		return false
	}
	table, column, qualified := strings.Cut(name, ".")
	made := regexp.MustCompile(`(?s)create (?:table|index|unique index) (?:if not exists )?` +
		regexp.QuoteMeta(table) + `\b[^;]*;`)
	column = regexp.QuoteMeta(column)
	added := regexp.MustCompile(`(?s)alter table ` + regexp.QuoteMeta(table) + `\b[^;]*add column ` + column + ` `)
	inside := regexp.MustCompile(`(?m)^\s*` + column + `\s+[a-z]`)
	comment := regexp.MustCompile(`--[^\n]*`)
	for _, text := range schema {
		text = comment.ReplaceAllString(text, "")
		for _, statement := range made.FindAllString(text, -1) {
			if !qualified || inside.MatchString(statement) {
				return true
			}
		}
		if qualified && added.MatchString(text) {
			return true
		}
	}
	return false
}

// filesOf returns the text of the files below a folder with an extension, tests left out.
func filesOf(t *testing.T, root, extension string) map[string]string {
	t.Helper()
	files := make(map[string]string)
	err := filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != extension || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		files[path] = string(text)
		return err
	})
	if err != nil || len(files) < 10 {
		t.Fatalf("%d files below %s: %v", len(files), root, err)
	}
	return files
}
