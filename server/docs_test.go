package server_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
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
	tests, rows := testNames(t, ".."), map[string]int{}
	named := regexp.MustCompile(`\b(?:Test|Fuzz)[A-Z]\w+`)
	for _, page := range []string{"../docs/threats.md", "../docs/asvs.md"} {
		for _, row := range tableRows(t, page, "test") {
			key := row.section
			if risk, _, _ := strings.Cut(row.cells[0], " "); strings.HasPrefix(key, "OWASP") {
				key = risk
			}
			rows[key]++
			exists := false
			for _, name := range named.FindAllString(row.cells[len(row.cells)-1], -1) {
				exists = exists || tests[name]
			}
			if len(row.cells) != 3 || !exists {
				t.Errorf("%s, %s: %q names no test that exists", page, row.section, row.cells)
			}
		}
	}
	for key, minRows := range map[string]int{
		"A player": 10, "A stolen token": 3, "A leaked low-scope key": 3, "A hostile network peer": 8,
		"A careless operator": 3, "An insider with the database": 3,
		"API1": 1, "API2": 1, "API3": 1, "API4": 1, "API5": 1, "API6": 1, "API7": 1, "API8": 1, "API9": 1, "API10": 1,
	} {
		if rows[key] < minRows {
			t.Errorf("%s: got %d rows, want at least %d", key, rows[key], minRows)
		}
	}
}

// levelTwo has, for each section of ASVS 4.0.3, the number of its last requirement of level 2,
// and those before it that are deleted.
const levelTwo = "1.1 7, 1.2 4, 1.4 5 2 3, 1.5 4, 1.6 4, 1.7 2, 1.8 2, 1.9 2, 1.10 1, 1.11 2, 1.12 2 1, 1.14 6, " +
	"2.1 12, 2.2 3, 2.3 3, 2.4 5, 2.5 7, 2.6 3, 2.7 6, 2.8 7, 2.9 3, 2.10 4, 3.1 1, 3.2 4, 3.3 4, 3.4 5, 3.5 3, " +
	"3.7 1, 4.1 5 4, 4.2 2, 4.3 3, 5.1 5, 5.2 8, 5.3 10, 5.4 3, 5.5 4, 6.1 3, 6.2 6, 6.3 2, 6.4 2, 7.1 4, " +
	"7.2 2, 7.3 4 2, 7.4 3, 8.1 4, 8.2 3, 8.3 8, 9.1 3, 9.2 4, 10.2 2, 10.3 3, 11.1 8, 12.1 3, 12.2 1, " +
	"12.3 6, 12.4 2, 12.5 2, 12.6 1, 13.1 5 2, 13.2 6 4, 13.3 2, 13.4 2, 14.1 4, 14.2 6, 14.3 3 1, 14.4 7, " +
	"14.5 4"

// The page about ASVS has every requirement of level 2 once. Each that is met names a test or a
// file that exists, and each that is not says why.
func TestASVSIsComplete(t *testing.T) {
	t.Parallel()
	const page = "../docs/asvs.md"
	tests, seen := testNames(t, ".."), make(map[string]int)
	for _, row := range tableRows(t, page, "shown by") {
		count(t, seen, row.cells[0])
		if len(row.cells) != 4 {
			t.Errorf("%q has %d cells, want 4", row.cells, len(row.cells))
			continue
		}
		here, shown := row.cells[2], row.cells[3]
		status, reason, missing := strings.Cut(here, ":")
		missing = missing && (status == "**Partly**" || status == "**Not met**")
		if missing && len(reason) < 10 || here == "" {
			t.Errorf("%s: %q has no reason", row.cells[0], here)
		}
		if !namesExisting(shown, tests) && (shown != "" || !missing) {
			t.Errorf("%s names no test or file that exists: %q", row.cells[0], shown)
		}
	}
	for _, row := range tableRows(t, page, "why") {
		count(t, seen, row.cells[0])
	}
	for section := range strings.SplitSeq(levelTwo, ", ") {
		numbers := strings.Fields(section)
		last, err := strconv.Atoi(numbers[1])
		if err != nil {
			t.Fatal(err)
		}
		for i := 1; i <= last; i++ {
			id, want := numbers[0]+"."+strconv.Itoa(i), 1
			if slices.Contains(numbers[2:], strconv.Itoa(i)) {
				want = 0
			}
			if seen[id] != want {
				t.Errorf("%s is on the page %d times, want %d", id, seen[id], want)
			}
			delete(seen, id)
		}
	}
	if len(seen) > 0 {
		t.Errorf("%v are no requirements of level 2", seen)
	}
}

// count counts the requirements in a cell, such as "3.4.1–3.4.4, 3.5.2".
func count(t *testing.T, seen map[string]int, cell string) {
	t.Helper()
	for part := range strings.SplitSeq(cell, ", ") {
		first, last, span := strings.Cut(part, "–")
		if !span {
			last = first
		}
		section := first[:max(strings.LastIndex(first, "."), 0)]
		from, err := strconv.Atoi(strings.TrimPrefix(first, section+"."))
		to, toErr := strconv.Atoi(strings.TrimPrefix(last, section+"."))
		if err != nil || toErr != nil || from > to {
			t.Errorf("%q is no requirement", part)
			continue
		}
		for i := from; i <= to; i++ {
			seen[section+"."+strconv.Itoa(i)]++
		}
	}
}

// namesExisting reports whether text names tests or files, all of which exist.
func namesExisting(text string, tests map[string]bool) bool {
	found := regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(text, -1)
	return len(found) > 0 && !slices.ContainsFunc(found, func(m []string) bool {
		_, err := os.Stat(filepath.Join("..", m[1]))
		return err != nil && !tests[m[1]]
	})
}

// tableRow is a row of a table, and the heading above it.
type tableRow struct {
	section string
	cells   []string
}

// tableRows returns the rows of all tables of a page whose last column has that title.
func tableRows(t *testing.T, page, title string) (rows []tableRow) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	section, in := "", false
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "#") {
			section = strings.TrimSpace(strings.TrimLeft(line, "#"))
		}
		if !strings.HasPrefix(line, "|") {
			in = false
			continue
		}
		cells := strings.Split(strings.TrimSuffix(strings.TrimPrefix(line, "|"), "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		switch {
		case cells[len(cells)-1] == title:
			in = true
		case in && !strings.HasPrefix(cells[0], "---"):
			rows = append(rows, tableRow{section, cells})
		}
	}
	if len(rows) == 0 {
		t.Errorf("%s has no table with the column %q", page, title)
	}
	return rows
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
