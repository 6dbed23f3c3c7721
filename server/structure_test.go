package server_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/scoreboard/scoreboard/"

// A room is a folder with its subfolders. Packages of a room may import each other.
type room struct {
	path  string
	floor int
}

// rooms are the floors of the project, bottom first: a package imports rooms of lower
// floors only. The room of a package is the longest path that holds it.
var rooms = []room{
	{"internal", 0}, // helpers without product knowledge, each a room of its own
	{"migrations", 0},
	{"deploy", 0},
	{"examples", 9},
	{"sdk", 9},

	{"client/wire", 0},       // shapes and codes of /v1, which client and server share
	{"server/scoreboard", 1}, // the domain
	{"server/ledger", 2},     // its decisions
	{"server/protocol", 2},   // decodes requests, and holds the formats between servers
	{"server/sources", 2},    // reads boards of other servers
	{"server/config", 3},
	{"server/store", 4},

	// Components. Only server connects them.
	{"server/pipeline/ingest", 5},
	{"server/pipeline/outbox", 5},
	{"server/pipeline/transport", 5},
	{"server/pipeline/projection", 5},
	{"server/pipeline/announce", 5},
	{"server/pipeline/mirror", 5},
	{"server/ranking", 5},
	{"server/leaderboard", 5},
	{"server/realtime", 5},
	{"server/http/edge", 5},
	{"server/http/auth", 5},
	{"server/http/limit", 5},
	{"server/http/docs", 5},
	{"server/http/pages", 5},
	{"server/http/console", 5},
	{"server/http/api", 6},     // serves docs and pages, streams of realtime, and checks tokens by auth
	{"server/http/dialect", 7}, // calls the operations of api
	{"server/upkeep", 5},
	{"server/health", 6}, // reports what ingest, realtime and upkeep measure
	{"server/admin", 6},  // operations on the stores, the ranking and upkeep
	{"server/devstack", 5},
	{"server", 8},

	{"client", 1}, // imports nothing of server/
	{"tui", 4},
	{"loadgen", 6}, // compares a server with its ranking in Redis
	{"cmd", 9},
	{"internal/test", 9},
}

// neighbours are the pairs of which the first may import the second although it is not on
// a lower floor, with the reason.
var neighbours = map[[2]string]string{
	{"internal/tlsfiles", "internal/filewatch"}: "certificates are reloaded as other files are",
	{"internal/tlsfiles", "server/scoreboard"}:  "a setting that names a bad file is a scoreboard.SetupError",
}

// roomOf returns the room of a package. Every package directly in internal is a room.
func roomOf(name string) (room, bool) {
	var found room
	for _, r := range rooms {
		if (name == r.path || strings.HasPrefix(name, r.path+"/")) && len(r.path) > len(found.path) {
			found = r
		}
	}
	if found.path == "internal" {
		found.path = name
	}
	return found, found.path != ""
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
	delete(packages, strings.TrimSuffix(module, "/")) // the documentation, embedded
	return packages
}

func TestPackagesImportLowerFloorsOnly(t *testing.T) {
	t.Parallel()
	used := make(map[[2]string]bool)
	seen := 0
	for name, imports := range listPackages(t, "...", "Imports") {
		from, ok := roomOf(name)
		if !ok {
			t.Errorf("%s is in no room: add its folder to the table", name)
			continue
		}
		seen++
		for _, imported := range imports {
			other, ours := strings.CutPrefix(imported, module)
			if !ours {
				continue
			}
			to, _ := roomOf(other)
			pair := [2]string{from.path, to.path}
			switch {
			case from.path == to.path || to.floor < from.floor:
			case neighbours[pair] != "":
				used[pair] = true
			default:
				t.Errorf("%s (floor %d) imports %s (floor %d)", name, from.floor, other, to.floor)
			}
		}
	}
	for pair := range neighbours {
		if !used[pair] {
			t.Errorf("%s no longer imports %s: remove the pair", pair[0], pair[1])
		}
	}
	if seen < 80 {
		t.Errorf("only %d packages were checked", seen)
	}
}

// The daemon has no load generator, nor its reports.
func TestDaemonHasNoLoadGenerator(t *testing.T) {
	t.Parallel()
	deps := listPackages(t, "cmd/scoreboardd", "Deps")["cmd/scoreboardd"]
	if !slices.Contains(deps, module+"server") {
		t.Fatalf("go list does not name the packages of the daemon: %v", deps)
	}
	for _, dep := range deps {
		if strings.HasPrefix(dep+"/", module+"loadgen/") {
			t.Errorf("cmd/scoreboardd has %s", dep)
		}
	}
}

// The domain types do no I/O.
func TestDomainImportsNoLibraries(t *testing.T) {
	t.Parallel()
	for name, imports := range listPackages(t, "server/scoreboard", "Imports") {
		for _, imported := range imports {
			if strings.Contains(imported, ".") && !strings.HasPrefix(imported, "golang.org/x/text/") &&
				!strings.HasPrefix(imported, module) {
				t.Errorf("%s imports %s; the domain types may only import the standard library "+
					"and golang.org/x/text", name, imported)
			}
		}
	}
}

// The Go client is usable without the server: nothing below client imports it.
func TestClientDoesNotImportServer(t *testing.T) {
	t.Parallel()
	seen := 0
	for name, deps := range listPackages(t, "client/...", "Deps") {
		seen++
		for _, dep := range deps {
			if strings.HasPrefix(dep, module+"server/") {
				t.Errorf("%s imports %s, directly or through another package", name, dep)
			}
		}
	}
	if seen < 3 {
		t.Errorf("only %d packages were checked", seen)
	}
}

// The domain and the stores know the codes of errors, not how the API or the transports
// write their answers, so a wire shape can change without a store.
func TestStoresDoNotImportWireShapes(t *testing.T) {
	t.Parallel()
	for name, deps := range listPackages(t, "server/store/...", "Deps") {
		if slices.Contains(deps, module+"server/protocol") {
			t.Errorf("%s imports server/protocol, directly or through another package", name)
		}
	}
	used := regexp.MustCompile(`\bwire\.(\w+)`)
	code := regexp.MustCompile(`^(Code\w*|Reason\w*|GlobalBoard)$`)
	seen := 0
	for _, folder := range []string{"scoreboard", "ledger", "store"} {
		err := filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			if err != nil || !strings.Contains(string(text), module+"client/wire") {
				return err
			}
			seen++
			for _, m := range used.FindAllStringSubmatch(string(text), -1) {
				if !code.MatchString(m[1]) {
					t.Errorf("%s uses wire.%s; domain and stores may use the codes only", path, m[1])
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if seen < 10 {
		t.Errorf("only %d files were checked", seen)
	}
}

// The tours name every folder of server/, and every folder of the floors that are only
// folders or have components below them.
func TestToursNameEveryFolder(t *testing.T) {
	t.Parallel()
	var folders []string
	for _, pattern := range []string{
		"*", "pipeline/*", "http/*", "upkeep/*", "realtime/*", "leaderboard/*",
		"ranking/*",
	} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range found {
			info, err := os.Stat(f)
			if err == nil && info.IsDir() && !slices.Contains(hiddenFolders, filepath.Base(f)) {
				folders = append(folders, f)
			}
		}
	}
	if len(folders) < 25 {
		t.Fatalf("only %d folders were found: %v", len(folders), folders)
	}
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range folders {
		if !regexp.MustCompile(`(?m)[ (]` + regexp.QuoteMeta(f) + `\b[^/]`).Match(doc) {
			t.Errorf("server/doc.go does not name %s", f)
		}
		if !strings.Contains(string(page), "`server/"+f+"`") {
			t.Errorf("docs/architecture.md does not name `server/%s`", f)
		}
	}
}

// hiddenFolders hold no component, as the scripts beside one.
var hiddenFolders = []string{"testdata", "internal", "lua"}

// README says what each folder of the project holds, and CONTRIBUTING, README and the tours
// name targets that make help lists in a group.
func TestReadmeNamesFoldersAndTargets(t *testing.T) {
	t.Parallel()
	entries, err := os.ReadDir("..")
	if err != nil {
		t.Fatal(err)
	}
	var folders []string
	for _, e := range entries {
		if e.IsDir() && !strings.HasPrefix(e.Name(), ".") && !slices.Contains(outputFolders, e.Name()) {
			folders = append(folders, e.Name())
		}
	}
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, line, _ := strings.Cut(string(readme), "**Folders**:")
	line, _, _ = strings.Cut(line, "\n\n")
	var named []string
	for _, m := range regexp.MustCompile("`([a-z]+)`").FindAllStringSubmatch(line, -1) {
		named = append(named, m[1])
	}
	slices.Sort(named)
	if !slices.Equal(named, folders) {
		t.Errorf("README.md names the folders %v, there are %v", named, folders)
	}

	help, err := exec.CommandContext(t.Context(), "make", "-C", "..", "--no-print-directory", "help").Output()
	if err != nil {
		t.Fatalf("make help: %v", err)
	}
	targets := map[string]int{}
	groups := 0
	for line := range strings.Lines(string(help)) {
		switch {
		case strings.HasPrefix(line, "  "):
			targets[strings.Fields(line)[0]]++
		case strings.TrimSpace(line) != "":
			groups++
		}
	}
	if groups < 4 || groups > 6 {
		t.Errorf("make help has %d groups, 4 to 6 are readable", groups)
	}
	makefile, err := os.ReadFile("../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	_, phony, _ := strings.Cut(string(makefile), ".PHONY:")
	phony, _, _ = strings.Cut(phony, "\n")
	for _, target := range strings.Fields(phony) {
		if targets[target] != 1 && target != "help" {
			t.Errorf("make help lists %s %d times", target, targets[target])
		}
	}
	for _, page := range []string{"../README.md", "../CONTRIBUTING.md", "../docs/architecture.md", "doc.go"} {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile("(?m)(?:`|^)make ([a-z-]+)").FindAllStringSubmatch(string(text), -1) {
			if targets[m[1]] == 0 && m[1] != "help" {
				t.Errorf("%s names make %s, which make help does not list", page, m[1])
			}
		}
	}
}

// outputFolders are made by builds and runs, and not part of the project.
var outputFolders = []string{"bin", "dist", "out"}

// cmd/ has the two programs that are shipped: what only tests and benchmarks use is in internal/test. http is a
// folder, not a package.
func TestFoldersOfPrograms(t *testing.T) {
	t.Parallel()
	for pattern, want := range map[string][]string{
		"../cmd/*":              {"../cmd/sbctl", "../cmd/scoreboardd"},
		"http/*.go":             nil,
		"pipeline/*.go":         nil,
		"../internal/*.go":      nil,
		"../internal/test/*.go": nil,
	} {
		got, err := filepath.Glob(pattern)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: got %v, %v, want %v", pattern, got, err, want)
		}
	}
}

// server/ is the assembly: what a component does is in the component's folder.
func TestServerHasFewFiles(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	files = slices.DeleteFunc(files, func(f string) bool { return strings.HasSuffix(f, "_test.go") })
	if len(files) == 0 || len(files) > 8 {
		t.Errorf("server/ has %d files that are no tests, at most 8 are expected: %v", len(files), files)
	}
}

// A package that make test runs without the race detector because it starts no goroutine
// has no go statement and nothing that goroutines share.
func TestRaceDetectorIsLeftOutWithReason(t *testing.T) {
	t.Parallel()
	list, err := os.ReadFile("../.ci/norace")
	if err != nil {
		t.Fatal(err)
	}
	shares := regexp.MustCompile(`(?m)^\s*go [a-zA-Z]+.*\(|\.Go\(func|^\s*"sync(/atomic)?"$|errgroup`)
	checked := 0
	for line := range strings.Lines(string(list)) {
		pattern, reason, _ := strings.Cut(strings.TrimSpace(line), " ")
		if strings.HasPrefix(pattern, "#") {
			continue
		}
		files, _ := filepath.Glob(filepath.Join("..", strings.TrimSuffix(pattern, "/..."), "*"))
		if len(files) == 0 || reason == "" {
			t.Errorf("%s: no such folder, or no reason", pattern)
		}
		if reason != "starts no goroutine" {
			continue
		}
		for _, file := range files {
			if !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
				continue
			}
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if found := shares.FindString(string(text)); found != "" {
				t.Errorf("%s has %q: run its tests under the race detector", file, strings.TrimSpace(found))
			}
			checked++
		}
	}
	if checked < 50 {
		t.Errorf("checked %d files, want all of the packages", checked)
	}
}
