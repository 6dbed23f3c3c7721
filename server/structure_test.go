package server_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/scoreboard/scoreboard/"

// levels order the packages: a package may import lower levels only, so components
// do not import each other.
var levels = map[string]int{
	"github.com/scoreboard/scoreboard": 0, // the embedded documentation

	"deploy":                          0,
	"deploy/grafana":                  0,
	"deploy/kubeschemas":              0,
	"deploy/sbom":                     0,
	"internal/assets":                 0,
	"internal/browsertest":            0,
	"internal/calls":                  0,
	"internal/design":                 0,
	"internal/gauge":                  0,
	"internal/buildinfo":              0,
	"internal/leased":                 0,
	"internal/memnet":                 0,
	"internal/pagecommand":            0,
	"internal/pageshot":               0,
	"internal/plural":                 0,
	"internal/publicnet":              0,
	"internal/redisurl":               0,
	"internal/schematest":             0,
	"internal/season":                 0,
	"internal/suggest":                0,
	"internal/termshot":               0,
	"internal/torture/clock":          0,
	"internal/torture/contract":       0,
	"internal/torture/mutants":        0,
	"internal/torture/netfault":       0,
	"loadgen/criteria":                0,
	"loadgen/record":                  0,
	"loadgen/wire":                    0,
	"migrations":                      0,
	"sdk/conformance":                 0, // vectors, and the test that runs them in Go
	"server/scoreboard":               0,
	"tui/quietinit":                   0,
	"internal/backoff":                1,
	"internal/breaker":                1,
	"internal/filewatch":              0,
	"internal/openapitest":            1,
	"internal/sources":                1,
	"internal/sizing":                 1,
	"internal/tlsfiles":               1,
	"internal/tracing":                0,
	"loadgen/report":                  1,
	"server/config":                   1,
	"server/protocol":                 1,
	"server/protocol/signtest":        0,
	"loadgen/plan":                    2,
	"server/announce":                 2,
	"server/archive":                  2,
	"server/console":                  2,
	"server/audit":                    2,
	"server/auth":                     2,
	"server/auth/authtest":            2,
	"server/checkpoint":               2,
	"server/docs":                     2,
	"server/edge":                     2,
	"server/frontpage":                2,
	"server/edge/edgetest":            2,
	"server/geo":                      2,
	"server/geo/geotest":              2,
	"server/ingest":                   2,
	"server/leaderboard":              2,
	"server/limit":                    2,
	"server/mirror":                   2,
	"server/moderation":               2,
	"server/outbox":                   2,
	"server/privacy":                  2,
	"server/profile":                  2,
	"server/projection":               2,
	"server/ranking":                  2,
	"server/realtime":                 2,
	"server/repair":                   2,
	"server/rollover":                 2,
	"server/web":                      2,
	"server/webhook":                  2,
	"server/standings":                2,
	"server/teams":                    2,
	"server/ledger":                   1,
	"server/store/internal/pg":        1,
	"server/store/internal/row":       2,
	"server/store/internal/ledgertx":  3,
	"server/store/archive":            4,
	"server/store/audit":              4,
	"server/store/boards":             4,
	"server/store/corrections":        4,
	"server/store/deadletters":        4,
	"server/store/friends":            4,
	"server/store/imports":            4,
	"server/store/increments":         4,
	"server/store/keys":               4,
	"server/store/jobs":               4,
	"server/store/loadruns":           4,
	"server/store/visibility":         4,
	"server/store/webhooks":           4,
	"server/store/moderation":         4,
	"server/store/moments":            4,
	"server/store/outbox":             4,
	"server/store/privacy":            4,
	"server/store/profiles":           4,
	"server/store/reads":              4,
	"server/store/recovery":           4,
	"server/store/settings":           4,
	"server/store/standings":          4,
	"server/store/teams":              4,
	"server/store":                    5,
	"server/transport":                2,
	"client":                          3,
	"loadgen/codec":                   3,
	"server/admin":                    6,
	"server/api":                      3,
	"server/devstack/process":         3,
	"server/dialect":                  4,
	"server/health":                   3,
	"server/realtime/internal/socket": 3,
	"server/settings":                 6,
	"server/transport/direct":         3,
	"server/transport/kafka":          3,
	"server/transport/streams":        3,
	"client/bulk":                     4,
	"loadgen/freshness":               4,
	"loadgen/outcome":                 4,
	"server/devstack":                 4,
	"server/realtime/sse":             4,
	"server/realtime/ws":              4,
	"server/transport/transporttest":  4,
	"internal/demo":                   4,
	"tui":                             4,
	"internal/backendtest":            5,
	"loadgen/bench/realtime":          5,
	"loadgen/verify":                  5,
	"server":                          7,
	"internal/backendtest/with":       6,
	"internal/torture/history":        1,
	"internal/torture/cluster":        6,
	"internal/torture":                7,
	"internal/soak":                   8,
	"loadgen":                         6,
	"server/store/storetest":          6,
	"client/clienttest":               8,
	"cmd/sbctl":                       8,
	"cmd/scoreboardd":                 8,
	"loadgen/bench":                   7,
	"cmd/scorebench":                  8,
}

// listPackages returns what go list says about our packages: by the path within the
// module, the packages in field, which is Imports or Deps.
func listPackages(t *testing.T, pattern, field string) map[string][]string {
	t.Helper()
	out, err := exec.CommandContext(
		t.Context(), "go", "list", "-f", "{{.ImportPath}}{{range ."+field+"}} {{.}}{{end}}", module+pattern,
	).Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	packages := make(map[string][]string)
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		packages[strings.TrimPrefix(fields[0], module)] = fields[1:]
	}
	return packages
}

func TestPackagesImportLowerLevelsOnly(t *testing.T) {
	t.Parallel()
	seen := 0
	for name, imports := range listPackages(t, "...", "Imports") {
		level, ok := levels[name]
		if !ok {
			if strings.HasPrefix(name, "examples/") {
				continue
			}
			t.Errorf("%s has no level: add it to the table", name)
			continue
		}
		seen++
		for _, imported := range imports {
			other, ours := strings.CutPrefix(imported, module)
			if ours && levels[other] >= level {
				t.Errorf("%s (level %d) imports %s (level %d)", name, level, other, levels[other])
			}
			if name == "server/scoreboard" && strings.Contains(imported, ".") &&
				!strings.HasPrefix(imported, "golang.org/x/text/") {
				t.Errorf("server/scoreboard imports %s; the domain types may only import the standard library "+
					"and golang.org/x/text", imported)
			}
		}
	}
	if seen < 15 {
		t.Errorf("only %d packages were checked", seen)
	}
}

// The stores know the domain types, not how the API or the transports write them
// down, so a wire shape can change without a store.
func TestStoresDoNotImportWireShapes(t *testing.T) {
	t.Parallel()
	seen := 0
	for name, deps := range listPackages(t, "server/store/...", "Deps") {
		if name == "server/store/storetest" { // starts real backends
			continue
		}
		seen++
		if slices.Contains(deps, module+"server/protocol") {
			t.Errorf("%s imports server/protocol, directly or through another package", name)
		}
	}
	if seen < 15 {
		t.Errorf("only %d packages were checked", seen)
	}
}
