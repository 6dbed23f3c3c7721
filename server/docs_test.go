package server_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode"
)

// Every link from one page of the repository to another leads to a file, and to one of its
// headings if it names one.
func TestDocsLinkToHeadings(t *testing.T) {
	t.Parallel()
	var pages []string
	for _, pattern := range []string{
		"*.md", "docs/*.md", "docs/*/*.md", "deploy/*.md", "deploy/*/*.md", "examples/*/*.md", "sdk/*/*.md",
	} {
		found, err := filepath.Glob(filepath.Join("..", pattern))
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, found...)
	}
	link := regexp.MustCompile(`\]\(([^)\s:]*?)(?:#([^)]*))?\)`)
	checked := 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range link.FindAllStringSubmatch(withoutCode(string(text)), -1) {
			target := page
			if found[1] != "" {
				target = filepath.Join(filepath.Dir(page), found[1])
			}
			content, err := os.ReadFile(target)
			if _, statErr := os.Stat(target); statErr != nil {
				t.Errorf("%s links to %s, which does not exist", page, found[1])
				continue
			}
			if found[2] == "" || err != nil {
				continue
			}
			if checked++; !headingIDs(string(content))[found[2]] {
				t.Errorf("%s links to %s#%s, which has no such heading", page, found[1], found[2])
			}
		}
	}
	if checked < 100 {
		t.Errorf("only %d links to headings were found", checked)
	}
}

// withoutCode is a page without its code, in which brackets are no links.
func withoutCode(text string) string {
	text = regexp.MustCompile("(?ms)^ *```.*?^ *```").ReplaceAllString(text, "")
	return regexp.MustCompile("`[^`\n]*`").ReplaceAllString(text, "")
}

// headingIDs are the ids that forges give to the headings of a page.
func headingIDs(text string) map[string]bool {
	text = regexp.MustCompile("(?ms)^ *```.*?^ *```").ReplaceAllString(text, "")
	ids, seen := make(map[string]bool), make(map[string]int)
	for _, found := range regexp.MustCompile(`(?m)^#+ (.+)$`).FindAllStringSubmatch(text, -1) {
		title := regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`).ReplaceAllString(found[1], "$1")
		id := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-', r == '_', unicode.IsLetter(r), unicode.IsDigit(r):
				return unicode.ToLower(r)
			}
			return -1
		}, strings.TrimSpace(title))
		if n := seen[id]; n > 0 {
			ids[id+"-"+strconv.Itoa(n)] = true
		}
		seen[id]++
		ids[id] = true
	}
	return ids
}

// TestDocsNameWhatExists compares the tests, files and folders that the docs
// name with the repository. Old decisions and the change log are history.
func TestDocsNameWhatExists(t *testing.T) {
	t.Parallel()
	root := ".."
	tests := testNames(t, root)
	var pages []string
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/runbook/*.md"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, found...)
	}
	if len(pages) < 8 {
		t.Fatalf("only %d pages were found", len(pages))
	}
	named := regexp.MustCompile(`\b(?:Test|Fuzz)[A-Z]\w+`)
	linked := regexp.MustCompile(`\]\(([^)#:]+)(?:#[^)]*)?\)`)
	folder := regexp.MustCompile("`((?:server|client|cmd|loadgen|internal|migrations|tui|docs)/[a-z0-9_/.-]+)`")
	for _, page := range pages {
		if filepath.Base(page) == "CHANGELOG.md" {
			continue
		}
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range named.FindAllString(string(text), -1) {
			if !tests[name] {
				t.Errorf("%s names %s, which does not exist", page, name)
			}
		}
		for _, link := range linked.FindAllStringSubmatch(string(text), -1) {
			if _, err := os.Stat(filepath.Join(filepath.Dir(page), link[1])); err != nil {
				t.Errorf("%s links to %s, which does not exist", page, link[1])
			}
		}
		for _, path := range folder.FindAllStringSubmatch(string(text), -1) {
			if _, err := os.Stat(filepath.Join(root, path[1])); err != nil &&
				!strings.HasSuffix(path[1], "NNNN-title.md") {
				t.Errorf("%s names %s, which does not exist", page, path[1])
			}
		}
	}
}

// The threat model has every attacker and every risk of OWASP's list, and each of its
// rows names a test that exists.
func TestThreatModelNamesTests(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	tests, named := testNames(t, ".."), regexp.MustCompile(`\b(?:Test|Fuzz)[A-Z]\w+`)
	section, rows, in := "", map[string]int{}, false
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "#") {
			section = strings.TrimSpace(strings.TrimLeft(line, "#"))
		}
		cells := strings.Split(strings.Trim(line, "|"), " | ")
		if len(cells) == 3 && strings.TrimSpace(cells[2]) == "test" {
			in = true // a table of threats, until it ends
			continue
		}
		if in = in && strings.HasPrefix(line, "|"); !in || len(cells) != 3 {
			continue
		}
		key := section
		if risk, _, _ := strings.Cut(strings.TrimSpace(cells[0]), " "); strings.HasPrefix(section, "OWASP") {
			key = risk
		}
		rows[key]++
		found := false
		for _, name := range named.FindAllString(cells[2], -1) {
			found = found || tests[name]
		}
		if !found {
			t.Errorf("%s: %s names no test that exists", section, line)
		}
	}
	for key, least := range map[string]int{
		"A player": 10, "A stolen token": 3, "A leaked low-scope key": 3, "A hostile network peer": 8,
		"A careless operator": 3, "An insider with the database": 3,
		"API1": 1, "API2": 1, "API3": 1, "API4": 1, "API5": 1, "API6": 1, "API7": 1, "API8": 1, "API9": 1, "API10": 1,
	} {
		if rows[key] < least {
			t.Errorf("%s: got %d rows, want at least %d", key, rows[key], least)
		}
	}
}

// testNames are all tests and fuzz targets of the repository.
func testNames(t *testing.T, root string) map[string]bool {
	t.Helper()
	declared := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
	names := make(map[string]bool)
	err := filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && strings.HasPrefix(entry.Name(), ".") && path != root {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		for _, found := range declared.FindAllStringSubmatch(string(text), -1) {
			names[found[1]] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}
