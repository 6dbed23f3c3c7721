package main

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// docs/dependencies.md names the modules that reach the binaries, and no others.
func TestDependenciesPage(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/dependencies.md")
	if err != nil {
		t.Fatal(err)
	}
	var named []string // as the page writes them: in full, or shortened after "with"
	for i, part := range strings.Split(string(page[strings.Index(string(page), "## Both binaries"):]), "`") {
		if i%2 == 1 {
			named = append(named, part)
		}
	}
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}",
		"github.com/scoreboard/scoreboard/cmd/scoreboardd", "github.com/scoreboard/scoreboard/cmd/sbctl").Output()
	if err != nil {
		t.Fatal(err)
	}
	modules := strings.Fields(string(out))
	slices.Sort(modules)
	modules = slices.Compact(modules)
	if len(modules) < 80 {
		t.Fatalf("only %d modules were found", len(modules))
	}
	used := map[string]bool{}
	for _, module := range modules {
		if module == "github.com/scoreboard/scoreboard" {
			continue
		}
		if at := slices.IndexFunc(named, func(name string) bool {
			return module == name || strings.HasSuffix(module, "/"+name)
		}); at < 0 {
			t.Errorf("%s reaches a binary, and the page does not name it", module)
		} else {
			used[named[at]] = true
		}
	}
	for _, name := range named {
		if !used[name] && strings.Contains(name, "/") {
			t.Errorf("the page names %s, which reaches no binary", name)
		}
	}
}
