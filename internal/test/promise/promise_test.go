package promise_test

import (
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var (
	update  = flag.Bool("update", false, "record what was added")
	rewrite = flag.Bool("rewrite", false, "record everything from scratch, for a new major version")
)

// The folder is named after the major version.
const recorded = "testdata/1"

// smallest is how many facts a surface has at least: fewer mean that its reader no longer understands it.
var smallest = map[string]int{
	"api": 2000, "streams": 100, "events": 40, "settings": 400, "commands": 400, "exits": 5, "json": 600,
	"metrics": 150, "client": 300, "sdks": 500,
	"dialect-delta": 10, "dialect-highscore": 10, "dialect-module": 10, "dialect-plain": 10,
}

func TestPromiseIsKept(t *testing.T) {
	all := surfaces(t)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		present, file := all[name], filepath.Join(recorded, name+".txt")
		few := len(present) < smallest[name] || smallest[name] == 0
		if few && *rewrite {
			t.Fatalf("%s has %d facts, which is less than the %d expected", name, len(present), smallest[name])
		}
		if *rewrite {
			record(t, file, present)
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatalf("%v: record it with go test ./internal/test/promise -rewrite", err)
		}
		promised := parse(string(text))
		broken, added := compare(promised, present)
		for _, sentence := range broken {
			t.Errorf("%s: %s. Undo it, or do it in the next major version (docs/versions.md)", name, sentence)
		}
		if few && len(broken) == 0 {
			t.Errorf("%s has %d facts, which is less than the %d expected", name, len(present), smallest[name])
		}
		if len(added) == 0 || len(broken) > 0 {
			continue
		}
		if *update {
			maps.Copy(promised, present)
			record(t, file, promised)
			continue
		}
		t.Logf("%s: added %s. Record it with: go test ./internal/test/promise -update", name, strings.Join(added, ", "))
	}
}

func record(t *testing.T, file string, f facts) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(f.text()), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Each recorded fact is missed when it is gone, and noticed when it is another one, except for what may change.
func TestPromiseOfEveryFact(t *testing.T) {
	t.Parallel()
	for name, present := range surfaces(t) {
		for fact, value := range present {
			if broken, _ := compare(facts{fact: value}, nil); (len(broken) == 0) != mayGo(fact) {
				t.Errorf("%s: without %s, %v is broken", name, fact, broken)
			}
			if mayGo(fact) {
				continue
			}
			if broken, _ := compare(facts{fact: value}, facts{fact: value + " of another kind"}); len(broken) != 1 {
				t.Errorf("%s: with another %s, %v is broken", name, fact, broken)
			}
		}
	}
}

func TestCompareWithPromise(t *testing.T) {
	t.Parallel()
	promised := facts{
		"in GET /v1/a query limit": "optional integer", "in GET /v1/a query limit at most": "100",
		"in A.x": "required string", "in A.mode": "optional string", "in A.mode = best": "value",
		"out B.y": "optional string", "out B.state": "required string", "out B.state = on": "value",
		"out Error.error_code = internal": "value", "setting a.b": "text, restart",
		"GET /v1/a": "no token", "in A.mode pattern": "^[ab]+$", "python f": "def",
		"out error_code gone": "status 410", "command c": "command", "command c --x": "required flag time",
		"command c arguments at least": "1", "exit code 3": "CheckFailed", "metric m": "counter",
		"metric m label board": "label",
	}
	for _, tc := range []struct {
		name, fact, value string // no value: it is removed
		broken            string // "" if it may change so
		added             int
	}{
		{"field removed", "out B.y", "", "out B.y was removed or renamed", 0},
		{"type changed", "out B.y", "optional integer", "was optional string in 1.0.0 and is now optional integer", 0},
		{"output always present", "out B.y", "required string", "", 0},
		{"output may be absent", "out B.state", "optional string", "out B.state was required string", 0},
		{"input no longer required", "in A.x", "optional string", "", 0},
		{"input required", "in A.mode", "required string", "in A.mode was optional string", 0},
		{"optional input added", "in A.z", "optional string", "", 1},
		{"required input added", "in A.z", "required string", "must be optional", 1},
		{"required input of a new schema", "in New.z", "required string", "", 1},
		{"output added", "out B.z", "required string", "", 1},
		{"bound lowered", "in GET /v1/a query limit at most", "50", "was 100 in 1.0.0 and is now 50", 0},
		{"bound raised", "in GET /v1/a query limit at most", "200", "", 0},
		{"bound removed", "in GET /v1/a query limit at most", "", "", 0},
		{"bound added", "in A.x length at most", "9", "send values outside", 1},
		{"lower bound added", "in GET /v1/a query limit at least", "1", "send values outside", 1},
		{"value accepted too", "in A.mode = latest", "value", "", 1},
		{"value no longer accepted", "in A.mode = best", "", "removed", 0},
		{"values of a free input", "in A.x = one", "value", "send other values", 1},
		{"required parameter of a known route", "in GET /v1/a query x", "required string", "must be optional", 1},
		{"required body of a known route", "in GET /v1/a body application/json", "required B", "must be optional", 1},
		{"required parameter of a new route", "in GET /v1/b query x", "required string", "", 1},
		{"optional parameter of a known route", "in GET /v1/a header X-A", "optional string", "", 1},
		{"required parameter of a known function", "in python f x", "required parameter", "must be optional", 1},
		{"pattern added", "in A.x pattern", "^a$", "send values outside", 1},
		{"pattern changed", "in A.mode pattern", "^b+$", "was ^[ab]+$ in 1.0.0 and is now ^b+$", 0},
		{"pattern removed", "in A.mode pattern", "", "", 0},
		{"fields required together", "in A together", `[{"required":["x"]}]`, "send values outside", 1},
		{"status of a code changed", "out error_code gone", "status 404", "was status 410 in 1.0.0", 0},
		{"value of a closed output", "out B.state = off", "value", "know all values", 1},
		{"error code added", "out Error.error_code = gone", "value", "", 1},
		{"setting becomes live", "setting a.b", "text, live", "", 0},
		{"setting removed", "setting a.b", "", "removed", 0},
		{"exit code changed", "exit code 3", "Other", "was CheckFailed", 0},
		{"flag no longer required", "command c --x", "flag time", "", 0},
		{"required flag of a known command", "command c --y", "required flag time", "must be optional", 1},
		{"required flag of a new command", "command d --y", "required flag time", "", 1},
		{"further argument required", "command c arguments at least", "2", "was 1 in 1.0.0 and is now 2", 0},
		{"label added", "metric m label mode", "label", "do not aggregate", 1},
		{"label of a new metric", "metric n label mode", "label", "", 1},
		{"label removed", "metric m label board", "", "removed", 0},
	} {
		present := maps.Clone(promised)
		present[tc.fact] = tc.value
		if tc.value == "" {
			delete(present, tc.fact)
		}
		broken, added := compare(promised, present)
		if len(added) != tc.added || len(broken) != min(len(tc.broken), 1) ||
			!strings.Contains(strings.Join(broken, ""), tc.broken) {
			t.Errorf("%s: got %q broken and %q added, want %q", tc.name, broken, added, tc.broken)
		}
	}
}
