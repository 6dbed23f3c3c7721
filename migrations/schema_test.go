package migrations

import (
	"fmt"
	"strings"
	"testing"
)

func TestProblem(t *testing.T) {
	t.Parallel()
	latest := Latest()
	if latest < baseline+9 {
		t.Fatalf("the newest migration is %d, want at least %d", latest, baseline+9)
	}
	next := (latest/releaseStep + 1) * releaseStep
	const migrate = `run "sbctl migrate up"`
	for name, c := range map[string]struct {
		number       int64
		detail, next string
	}{
		"empty":                  {0, "no schema", migrate},
		"before the first":       {baseline - 1, "a build before 1.0.0", "use an empty database"},
		"older":                  {latest - 1, fmt.Sprintf("at migration %d", latest-1), migrate},
		"same":                   {latest, "", ""},
		"newer":                  {latest + 1, "", ""},
		"next release":           {next, "", ""},
		"end of next release":    {next + releaseStep - 1, "", ""},
		"release after the next": {next + releaseStep, "supports up to", "run a newer version of scoreboardd"},
	} {
		detail, step := Problem(c.number)
		if (detail == "") != (c.detail == "") || !strings.Contains(detail, c.detail) ||
			!strings.HasPrefix(step, c.next) || c.next == "" && step != "" {
			t.Errorf("%s: got %q and %q, want %q and %q", name, detail, step, c.detail, c.next)
		}
	}
}
