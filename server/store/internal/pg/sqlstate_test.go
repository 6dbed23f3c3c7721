package pg

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

const sqlstatePage = "../../../../docs/runbook/lost-postgresql.md"

// The runbook has every decision on a SQLSTATE, and no other.
func TestSQLStatesAreDocumented(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(sqlstatePage)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(page), "| SQLSTATE | means | response | repeated at once | connection |\n")
	table, _, _ := strings.Cut(rest, "\n\n")
	if !found {
		t.Fatalf("%s has no table of SQLSTATEs", sqlstatePage)
	}
	either := func(is bool, yes, no string) string {
		if is {
			return yes
		}
		return no
	}
	want := "|---|---|---|---|---|"
	for _, s := range states {
		code := either(len(s.Code) == 2, "`"+s.Code+"…`", "`"+s.Code+"`")
		want += fmt.Sprintf("\n| %s | %s | %s | %s | %s |", code, s.Meaning, either(s.Outage, "503", "500"),
			either(s.Retry, "yes", "no"), either(s.Drop, "closed", "kept"))
	}
	if strings.TrimSpace(table) != want {
		t.Errorf("%s has\n%s\nwant\n%s", sqlstatePage, table, want)
	}
}

// A code of a class that is not in the table is decided by its class.
func TestStateOf(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]string{
		"08006": "08", "25006": "25006", "25001": "25", "53100": "53", "57014": "57", "57P01": "57P01", "58P01": "58",
		"XX000": "XX", "XX001": "XX", "23505": "", "": "", "0": "",
	} {
		if s, ok := stateOf(code); s.Code != want || ok != (want != "") {
			t.Errorf("%q: got %+v, want that of %q", code, s, want)
		}
	}
}
