package server_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// Each statement of the specifications names a test or a file that exists, or a table of
// docs/dialects.md that says what is here instead.
func TestSpecificationsNameTests(t *testing.T) {
	t.Parallel()
	const page = "../docs/specifications.md"
	dialects, err := os.ReadFile("../docs/dialects.md")
	if err != nil {
		t.Fatal(err)
	}
	tests, headings, rows := testNames(t, ".."), headingIDs(string(dialects)), map[string]int{}
	link := regexp.MustCompile(`\]\(dialects\.md#([^)]*)\)`)
	for _, row := range tableRows(t, page, "shown by") {
		specification, _, _ := strings.Cut(row.section, ":")
		rows[specification]++
		if len(row.cells) != 3 {
			t.Errorf("%q has %d cells, want 3", row.cells, len(row.cells))
			continue
		}
		shown := row.cells[2]
		differs := link.FindAllStringSubmatch(shown, -1)
		for _, to := range differs {
			if !headings[to[1]] {
				t.Errorf("%q names #%s, which docs/dialects.md lacks", row.cells[1], to[1])
			}
		}
		named := strings.Contains(shown, "`")
		if !named && len(differs) == 0 || named && !namesExisting(shown, tests) {
			t.Errorf("%s: %q is shown by nothing that exists: %s", specification, row.cells[1], shown)
		}
	}
	for specification, want := range map[string]int{"A": 70, "B": 58, "C": 48, "D": 22, "E": 42} {
		if rows[specification] < want {
			t.Errorf("%d rows of specification %s, want at least %d", rows[specification], specification, want)
		}
	}
}
