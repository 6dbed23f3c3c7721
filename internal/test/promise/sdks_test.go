package promise_test

import (
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// sdk describes how the public names of an SDK are declared, a line each. Its sources are formatted by tools, so the
// indentation of a line says what it belongs to.
type sdk struct {
	language, extension string
	folders             []string
	declares            *regexp.Regexp // a type or function outside types: "public" if it is, "kind" and "name"
	member              *regexp.Regexp // of a type: "kind", if it has one, and "name"
}

var sdkSources = []sdk{
	{
		language: "typescript", extension: ".ts", folders: []string{"sdk/typescript/src"},
		declares: regexp.MustCompile(`^(?P<public>export )?(?:async )?` +
			`(?P<kind>class|interface|function\*?|const|type) (?P<name>\w+)`),
		member: regexp.MustCompile(`^  (?P<kind>(?:readonly |static |get )*)(?:async )?` +
			`\*?(?P<name>[a-z]\w*)\??(?:<.*>)?[(:=]`),
	},
	{
		language: "python", extension: ".py", folders: []string{"sdk/python/scoreboard"},
		declares: regexp.MustCompile(`^(?P<public>)(?P<kind>class|(?:async )?def) (?P<name>\w+)`),
		member:   regexp.MustCompile(`^    (?P<kind>(?:async )?def )?(?P<name>[a-z]\w*|__init__|__call__)(?:\(|: )`),
	},
	{
		language: "csharp", extension: ".cs", folders: []string{"sdk/csharp/Runtime", "sdk/godot/dotnet"},
		declares: regexp.MustCompile(`^    (?:(?P<public>public )|internal )?` +
			`(?:(?:sealed|static|abstract|partial|readonly) )*` +
			`(?P<kind>class|struct|interface|enum|delegate) (?:[\w<>]+ )?(?P<name>\w+)(?:\(| :|$)`),
		member: regexp.MustCompile(`^        public (?:async |override )*` +
			`(?P<kind>.*?)(?P<name>\w+)(?:<\w+>)?\s*(?:[({;=]|$)`),
	},
	{
		language: "gdscript", extension: ".gd", folders: []string{"sdk/godot/gdscript/addons/scoreboard"},
		declares: regexp.MustCompile(`^(?P<public>)(?P<kind>class_name) (?P<name>\w+)`),
		member:   regexp.MustCompile(`^(?:@export )?(?P<kind>(?:static )?func|signal|var) (?P<name>[a-z]\w*)`),
	},
}

// sdks returns the public names of the SDKs: types, functions, methods, fields, and the parameters of Python's.
func sdks(t *testing.T) facts {
	t.Helper()
	f := facts{}
	for _, s := range sdkSources {
		sources := s.read(t)
		public := publicNames(sources)
		for file, text := range sources {
			s.facts(f, text, func(name string, exported bool) bool {
				switch s.language {
				case "typescript":
					return exported && (public[name] || public[strings.TrimSuffix(filepath.Base(file), ".ts")])
				case "python":
					return public[name]
				}
				return exported || s.language == "gdscript"
			})
		}
	}
	return f
}

func (s sdk) read(t *testing.T) map[string]string {
	t.Helper()
	sources := map[string]string{}
	for _, folder := range s.folders {
		err := filepath.WalkDir(root+folder, func(path string, _ fs.DirEntry, err error) error {
			if err == nil && filepath.Ext(path) == s.extension {
				sources[path] = read(t, strings.TrimPrefix(filepath.ToSlash(path), root))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return sources
}

func (s sdk) facts(f facts, text string, isPublic func(name string, exported bool) bool) {
	within := "" // the name of a public type, with which its members begin
	for at := 0; at < len(text); {
		line, _, _ := strings.Cut(text[at:], "\n")
		rest := text[at:]
		at += len(line) + 1
		if m := s.declares.FindStringSubmatch(line); m != nil {
			within = ""
			kind, name := m[s.declares.SubexpIndex("kind")], m[s.declares.SubexpIndex("name")]
			if isPublic(name, m[s.declares.SubexpIndex("public")] != "") {
				fact := s.language + " " + name
				f.add(fact, kind)
				s.parameters(f, fact, rest)
				if hasMembers.MatchString(kind) {
					within = fact
				}
			}
		} else if m := s.member.FindStringSubmatch(line); m != nil && within != "" {
			kind, name := strings.TrimSpace(m[s.member.SubexpIndex("kind")]), within+"."+m[s.member.SubexpIndex("name")]
			f.add(name, strings.TrimSpace("public "+kind))
			s.parameters(f, name, rest)
		}
	}
}

var hasMembers = regexp.MustCompile(`class|interface|struct`)

var (
	pythonSignature = regexp.MustCompile(`(?s)^ *(?:async )?def \w+\((.*?)\) ->`)
	pythonParameter = regexp.MustCompile(`(?:^|,|\*)\s*(\w+): (?:[^,\[\]]|\[(?:[^\[\]]|\[[^\]]*\])*\])*`)
)

// parameters writes those of a function of Python, which are given by name.
func (s sdk) parameters(f facts, name, text string) {
	m := pythonSignature.FindStringSubmatch(text)
	if s.language != "python" || m == nil {
		return
	}
	for _, p := range pythonParameter.FindAllStringSubmatch(m[1], -1) {
		need := "required"
		if strings.Contains(p[0], " = ") {
			need = "optional"
		}
		f.add("in "+name+" "+p[1], need+" parameter")
	}
}

var (
	exportList  = regexp.MustCompile(`(?m)^export (?:type )?\{([^}]*)\}|^__all__ = \[([^\]]*)\]`)
	exportedAll = regexp.MustCompile(`(?m)^export type \* from "\./(\w+)\.js"`)
	word        = regexp.MustCompile(`\w+`)
)

// publicNames returns what the entry points of a package export, and the names of the files that export all they have:
// the further entry points of package.json.
func publicNames(sources map[string]string) map[string]bool {
	public := map[string]bool{"file": true, "react": true, "element": true}
	for _, text := range sources {
		for _, m := range exportList.FindAllStringSubmatch(text, -1) {
			for _, name := range word.FindAllString(m[1]+m[2], -1) {
				public[name] = name != "type"
			}
		}
		for _, m := range exportedAll.FindAllStringSubmatch(text, -1) {
			public[m[1]] = true
		}
	}
	return public
}
