package main

import (
	"regexp"
	"slices"
	"testing"

	"github.com/scoreboard/scoreboard/internal/test/instance"
)

// The commands of docs/import.md run in their order: the board has the scores of the first
// file, then those of the second.
func TestImportPage(t *testing.T) {
	t.Parallel()
	s := instance.New(t)
	page := readPage(t, "docs/import.md")
	script := page.Script(t, []string{"CSV"}, nil)
	out := shell(t, t.TempDir(), "export SBCTL_SERVER="+s.URL+" SBCTL_TOKEN="+instance.Token("root", "score:admin")+
		"\n"+script+"sbctl export board arena --output csv\n", map[string]string{})
	got := regexp.MustCompile(`(?m)^\d,\w+,\d+`).FindAllString(out, -1)
	want := []string{"1,zoe,120", "2,ann,120", "3,bob,75", "1,zoe,130", "2,ann,120", "3,bob,70"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q:\n%s", got, want, out)
	}
}
