package conformance_test

import (
	"os"
	"regexp"
	"testing"
)

// The packages have one version, wherever their tools want to find it. That of the NuGet package is Unity's.
func TestPackagesHaveOneVersion(t *testing.T) {
	t.Parallel()
	semantic := regexp.MustCompile(`^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$`)
	var first string
	for _, at := range []struct{ file, expression string }{
		{"../csharp/package.json", `"version": "(.*)"`},
		{"../typescript/package.json", `"version": "(.*)"`},
		{"../typescript/package-lock.json", `"version": "(.*)"`},
		{"../python/scoreboard/_version.py", `__version__ = "(.*)"`},
		{"../godot/gdscript/addons/scoreboard/plugin.cfg", `version="(.*)"`},
		{"../../server/http/api/openapi.json", `"title": "scoreboard",\s+"version": "(.*)"`},
	} {
		text, err := os.ReadFile(at.file)
		if err != nil {
			t.Fatal(err)
		}
		found := regexp.MustCompile(at.expression).FindSubmatch(text)
		if found == nil || !semantic.Match(found[1]) {
			t.Errorf("%s has no semantic version: %q", at.file, found)
			continue
		}
		version := string(found[1])
		if first == "" {
			first = version
		}
		if version != first {
			t.Errorf("%s has the version %s, want %s", at.file, version, first)
		}
	}
}
