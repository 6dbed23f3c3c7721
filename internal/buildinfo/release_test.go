package buildinfo

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write Release into the files that state it")

// A place states the release: in a file below the root, as the only group of the expression.
type place struct{ file, expression string }

// places are all files of packages, charts, images and SDKs that state the release, because their tools or people read
// it there. The programs have it compiled in.
var places = []place{
	{"README.md", `\[What (\S+) does\]`},
	{"README.md", `go get github\.com/scoreboard/scoreboard@v([0-9.]+[0-9])`},
	{"docs/sdks.md", `go get github\.com/scoreboard/scoreboard@v([0-9.]+[0-9])`},
	{"docs/sdks.md", `-require github\.com/scoreboard/scoreboard@v(\S+) `},
	{"deploy/Dockerfile", `ARG GOLANG=\S+\nFROM \S+ AS build\n(?:#.*\n)*ARG VERSION=([0-9.]+)\+dev `},
	{"deploy/Dockerfile", `FROM scratch\nARG VERSION=([0-9.]+)\+dev `},
	{"deploy/chart/Chart.yaml", `(?m)^version: (\S+)`},
	{"deploy/chart/Chart.yaml", `(?m)^appVersion: (\S+)`},
	{"deploy/gitops/application.yaml", `targetRevision: v(\S+)`},
	{"deploy/gitops/application.yaml", `name: image.tag, value: v([^}]+)\}`},
	{"sdk/csharp/package.json", `"version": "([^"]*)"`},
	{"sdk/csharp/Runtime/Client/AssemblyInfo.cs", `AssemblyVersion\("([^"]*)"\)`},
	{"sdk/csharp/Runtime/Client/Net/Platform.cs", `"scoreboard-csharp/([^"]*)"`},
	{"sdk/csharp/Runtime/Unity/UnityPlatform.cs", `"scoreboard-unity/([^"]*)"`},
	{"sdk/godot/dotnet/addons/scoreboard/GodotPlatform.cs", `"scoreboard-godot/([^"]*)"`},
	{"sdk/godot/gdscript/addons/scoreboard/plugin.cfg", `version="([^"]*)"`},
	{"sdk/godot/gdscript/addons/scoreboard/scoreboard.gd", `"scoreboard-godot/([^"]*)"`},
	{"sdk/python/scoreboard/_version.py", `__version__ = "([^"]*)"`},
	{"sdk/typescript/package.json", `"version": "([^"]*)"`},
	{"sdk/typescript/package-lock.json", `^\{\s+"name": "[^"]*",\s+"version": "([^"]*)"`},
	{"sdk/typescript/package-lock.json", `"": \{\s+"name": "[^"]*",\s+"version": "([^"]*)"`},
	{"sdk/typescript/src/options.ts", `"scoreboard-typescript/([^"]*)"`},
}

// written are the places that commands write from the others, or people: they are compared only.
var written = []struct {
	place
	command string
}{
	{place{"CHANGELOG.md", `(?m)^## (\d\S+)`}, "begin a section for it, with what it changes"},
	{place{"server/http/api/openapi.json", infoVersion}, "go test ./server/http/api -run OpenAPI -update"},
	{place{"server/http/api/asyncapi.json", infoVersion}, "go test ./server/http/api -run AsyncAPI -update"},
	{place{"server/http/pages/assets/board.js", `"scoreboard-typescript/([^"]*)"`}, "npm run web"},
	{place{"server/http/pages/assets/score-board.js", `"scoreboard-typescript/([^"]*)"`}, "npm run web"},
}

const infoVersion = `(?m)^ "info": \{\n(?:  .*\n)*?  "version": "([^"]*)"`

// states returns the release that a text states, and where.
func (p place) states(text []byte) (found string, from, to int) {
	at := regexp.MustCompile(p.expression).FindSubmatchIndex(text)
	if at == nil {
		return "", 0, 0
	}
	return string(text[at[2]:at[3]]), at[2], at[3]
}

// wrong returns what is wrong with a place of a text, or "".
func (p place) wrong(text []byte) string {
	if found, _, _ := p.states(text); found != Release {
		return p.file + " states the version " + `"` + found + `" where ` + p.expression + " matches, want " + Release +
			": go test ./internal/buildinfo -run Release -update"
	}
	return ""
}

func TestReleaseIsStatedAlikeEverywhere(t *testing.T) {
	if !regexp.MustCompile(`^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$`).MatchString(Release) {
		t.Fatalf("Release is %q, which is no semantic version", Release)
	}
	for _, p := range places {
		file := filepath.Join("../..", p.file)
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		_, from, to := p.states(text)
		if to == 0 {
			t.Errorf("%s does not state the version: nothing matches %s", p.file, p.expression)
			continue
		}
		if *update {
			text = []byte(string(text[:from]) + Release + string(text[to:]))
			if err := os.WriteFile(file, text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if wrong := p.wrong(text); wrong != "" {
			t.Error(wrong)
		}
		// Another version there is found.
		if other := string(text[:from]) + "9.9.9" + string(text[to:]); p.wrong([]byte(other)) == "" {
			t.Errorf("%s: another version where %s matches was not found", p.file, p.expression)
		}
	}
	for _, w := range written {
		text, err := os.ReadFile(filepath.Join("../..", w.file))
		if err != nil {
			t.Fatal(err)
		}
		if found, _, _ := w.states(text); found != Release {
			t.Errorf("%s has the version %q, want %s: %s", w.file, found, Release, w.command)
		}
	}
}

// Each client of sdk/ states the release in its User-Agent.
func TestReleaseIsInEveryUserAgent(t *testing.T) {
	t.Parallel()
	agent := regexp.MustCompile(`"scoreboard-(?:typescript|csharp|unity|godot|python)(/[^"]*)?"`)
	var found int
	err := filepath.WalkDir("../../sdk", func(path string, e os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.IsDir() {
			switch e.Name() {
			case "node_modules", "test", "tests", "Tests~", "dist", "build", "languages":
				return filepath.SkipDir
			}
			return nil
		}
		switch filepath.Ext(path) {
		case ".ts", ".cs", ".gd", ".py":
		default:
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, a := range agent.FindAllString(string(text), -1) {
			if found++; !strings.HasSuffix(a, "/"+Release+`"`) && !strings.HasSuffix(a, `/{__version__}"`) {
				t.Errorf("%s names itself %s, without the version", path, a)
			}
		}
		return nil
	})
	if err != nil || found < 6 {
		t.Errorf("found %d names, %v; want those of six clients", found, err)
	}
}

func TestNameOfBuild(t *testing.T) {
	t.Parallel()
	for described, want := range map[string]string{
		"v" + Release: Release, Release: Release,
		"v" + Release + "-3-g0123abc":       Release + "+3-g0123abc",
		"v" + Release + "-3-g0123abc-dirty": Release + "+3-g0123abc-dirty",
		"0123abc":                           Release + "+0123abc", "": Release + "+devel",
		Release + "+dev":    Release + "+dev",
		"v0.9.0-3-g0123abc": Release + "+0.9.0-3-g0123abc",
	} {
		if got := name(described); got != want {
			t.Errorf("a build described as %q is named %s, want %s", described, got, want)
		}
	}
	if got := Read(); !strings.HasPrefix(got.Version, Release+"+") {
		t.Errorf("the build of a test is named %s, which is not a release", got.Version)
	}
}
