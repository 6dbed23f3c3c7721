package promise_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/server/protocol"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

const root = "../../../"

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(root + file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// surfaces returns the facts of all that other programs rely on. What is read from documents is generated from the
// program, and other tests keep it current.
func surfaces(t *testing.T) map[string]facts {
	t.Helper()
	all := map[string]facts{
		"api":      httpAPI(t, "server/http/api/openapi.json"),
		"streams":  streams(t, "server/http/api/asyncapi.json"),
		"events":   events(t),
		"settings": settings(read(t, "docs/settings.md")),
		"commands": commands(read(t, "docs/cli.md")),
		"exits":    exits(read(t, "cmd/sbctl/errors.go")),
		"json":     shapes(read(t, "docs/cli.md")),
		"metrics":  metrics(read(t, "docs/metrics.md")),
		"client":   goClient(t),
		"sdks":     sdks(t),
	}
	for _, m := range closeCode.FindAllStringSubmatch(read(t, "client/wire/message.go"), -1) {
		all["streams"].add("close code "+m[2], m[1])
	}
	for _, name := range []string{"delta", "highscore", "module", "plain"} {
		all["dialect-"+name] = httpAPI(t, "server/http/dialect/openapi/"+name+".json")
	}
	return all
}

// events returns the fields of the records of Kafka and Redis streams, as they are encoded.
func events(t *testing.T) facts {
	t.Helper()
	f := facts{}
	previous := scoreboard.Score(1)
	change := &scoreboard.Change{
		Type: scoreboard.ChangeScore, Board: "global", User: "ada", Score: 3, Previous: &previous, Delta: 2, Version: 2,
		Revision: 2, Key: -3, ReachedAt: time.Unix(1, 0), RecordedAt: time.Unix(1, 0), Trace: "trace",
	}
	heartbeat := scoreboard.Heartbeat{Shards: 1, Partitions: 1, AsOf: time.Unix(1, 0)}
	for name, record := range map[string][]byte{
		"score.changed":  protocol.AppendEvent(nil, change),
		"heartbeat":      protocol.AppendHeartbeat(nil, heartbeat),
		"cloudevents":    protocol.AppendCloudEvent(nil, change),
		"feed score":     protocol.AppendScoreEvent(nil, change),
		"feed highscore": protocol.AppendHighscoreEvent(nil, change),
	} {
		var decoded object
		if err := json.Unmarshal(record, &decoded); err != nil {
			t.Fatalf("%s: %v in %s", name, err, record)
		}
		fieldsOf(f, "out "+name, decoded)
	}
	f.add("out score.changed.schema", fmt.Sprint("required schema ", protocol.Schema))
	structOf(f, "out leaderboard.notice", reflect.TypeFor[protocol.Notice]())
	structOf(f, "out season.closed", reflect.TypeFor[protocol.SeasonClosed]())
	return f
}

func fieldsOf(f facts, name string, o object) {
	for field, v := range o {
		is := "number"
		switch v := v.(type) {
		case string:
			is = "text"
		case bool:
			is = "boolean"
		case object:
			fieldsOf(f, name+"."+field, v)
			is = "object"
		}
		f.add(name+"."+field, "required "+is)
	}
}

func structOf(f facts, name string, of reflect.Type) {
	for i := range of.NumField() {
		tag, options, _ := strings.Cut(of.Field(i).Tag.Get("json"), ",")
		is, t := "", of.Field(i).Type
		if t.Kind() == reflect.Slice {
			is, t = "list of ", t.Elem()
		}
		switch {
		case t == reflect.TypeFor[time.Time]():
			is += "time"
		case t.Kind() == reflect.Struct:
			structOf(f, name+"."+tag, t)
			is += "object"
		default:
			is += t.Kind().String()
		}
		need := "required "
		if strings.Contains(options, "omit") {
			need = "optional "
		}
		f.add(name+"."+tag, need+is)
	}
}

// rows returns the cells of the rows of all tables of a page whose first cell begins with code.
func rows(page string) (found [][]string) {
	for line := range strings.Lines(page) {
		if cells := strings.Split(strings.TrimSpace(line), " | "); strings.HasPrefix(line, "| `") && len(cells) > 2 {
			cells[0] = strings.TrimPrefix(cells[0], "| ")
			found = append(found, cells)
		}
	}
	return found
}

var code = regexp.MustCompile("`([^`]+)`")

// settings returns the settings, with their flags and environment variables. Defaults are not promised.
func settings(page string) facts {
	f := facts{}
	_, page, _ = strings.Cut(page, "<!-- Below: every setting")
	for _, row := range rows(page) {
		names := code.FindAllStringSubmatch(row[0], -1)
		f.add("setting "+names[0][1], row[1]+", "+row[3])
		for _, n := range names[1:] {
			f.add("setting "+names[0][1]+" also "+n[1], "name")
		}
	}
	return f
}

func metrics(page string) facts {
	f := facts{}
	_, page, _ = strings.Cut(page, "<!-- Below: every metric")
	for _, row := range rows(page) {
		name := strings.Trim(row[0], "`")
		f.add("metric "+name, row[1])
		for _, label := range code.FindAllStringSubmatch(row[2], -1) {
			f.add("metric "+name+" label "+label[1], "label")
		}
	}
	return f
}

var (
	heading = regexp.MustCompile(`(?m)^### (.+)$`)
	aFlag   = regexp.MustCompile(`(?m)^ +(?:-(\w), )?--([a-z0-9-]+)(?: ([a-zA-Z]+))? (.*)$`)
	aUsage  = regexp.MustCompile(`(?m)^Usage:\n  (.+)$`)
	anAlias = regexp.MustCompile(`\(alias --([a-z-]+)`)
)

// sections returns the text below each heading of the third level.
func sections(page string) map[string]string {
	found := map[string]string{}
	at := heading.FindAllStringSubmatchIndex(page, -1)
	for i, h := range at {
		end := len(page)
		if i+1 < len(at) {
			end = at[i+1][0]
		}
		found[page[h[2]:h[3]]] = page[h[1]:end]
	}
	return found
}

// commands returns the commands of sbctl and their flags.
func commands(page string) facts {
	f := facts{}
	_, page, _ = strings.Cut(page, "\n## Commands\n")
	page, _, _ = strings.Cut(page, "\n## JSON\n")
	all := sections(page)
	all["sbctl"], _, _ = strings.Cut(page, "\n### ")
	for command, help := range all {
		f.add("command "+command, "command")
		if m := aUsage.FindStringSubmatch(help); m != nil {
			arguments(f, "command "+command+" arguments", strings.TrimPrefix(m[1], command))
		}
		_, flags, _ := strings.Cut(help, "\nFlags:\n")
		for _, m := range aFlag.FindAllStringSubmatch(flags, -1) {
			name, is := "command "+command+" --", strings.TrimSpace("flag "+m[3])
			if strings.HasSuffix(m[4], "(required)") {
				is = "required " + is
			}
			f.add(name+m[2], is)
			if m[1] != "" {
				f.add("command "+command+" -"+m[1], "flag --"+m[2])
			}
			if alias := anAlias.FindStringSubmatch(m[4]); alias != nil {
				f.add(name+alias[1], "alias of --"+m[2])
			}
		}
	}
	return f
}

// arguments writes how many a line of usage has, without the flags: those in brackets are optional.
func arguments(f facts, name, usage string) {
	least, most, optional := 0, 0, false
	for _, word := range strings.Fields(strings.TrimSuffix(usage, "[flags]")) {
		optional = optional || strings.HasPrefix(word, "[")
		if most++; !optional {
			least++
		}
		if strings.HasSuffix(word, "…") || strings.HasSuffix(word, "…]") || strings.HasSuffix(word, "...") {
			most += 1000
		}
		optional = optional && !strings.Contains(word, "]")
	}
	f.add(name+atLeast, strconv.Itoa(least))
	f.add(name+atMost, strconv.Itoa(most))
}

// closeCode is a code with which the server closes a WebSocket.
var closeCode = regexp.MustCompile(`(?m)^\tClose(\w+) += (\d+)`)

var exit = regexp.MustCompile(`(?m)^\texit(\w+) += (\d+)`)

// exits returns the exit codes of sbctl.
func exits(source string) facts {
	f := facts{}
	for _, m := range exit.FindAllStringSubmatch(source, -1) {
		f.add("exit code "+m[2], m[1])
	}
	return f
}

var shapeLine = regexp.MustCompile(`^( *)([^ :?]+)(\?)?( \(or null\))?: (.*)$`)

// shapes returns what the commands print with --output json.
func shapes(page string) facts {
	f := facts{}
	_, page, _ = strings.Cut(page, "\n## JSON\n")
	for _, row := range rows(page) {
		f.add("command "+strings.Trim(row[0], "`"), strings.TrimSuffix(link.ReplaceAllString(row[1], "$1"), " |"))
	}
	for name, text := range sections(page) {
		var path []string
		for line := range strings.Lines(text) {
			m := shapeLine.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
			if m == nil {
				continue
			}
			depth := max(len(m[1])/2-1, 0)
			path = append(path[:min(depth, len(path))], m[2])
			need := "required "
			if m[3] != "" {
				need = "optional "
			}
			f.add("out "+name+"."+strings.Join(path, "."), need+m[5]+m[4])
		}
	}
	return f
}

var link = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)

// goClient returns the exported identifiers of the package client, with the fields of types that are aliases of those
// of client/wire.
func goClient(t *testing.T) facts {
	t.Helper()
	f, wire := goPackage(t, "client"), goPackage(t, "client/wire")
	aliased := map[string]bool{}
	for _, value := range f {
		if of, ok := strings.CutPrefix(value, "alias of wire."); ok {
			aliased[of] = true
		}
	}
	for name, value := range wire {
		if parts := strings.Split(name, "."); aliased[parts[1]] {
			f.add(name, value)
		}
	}
	return f
}

// goPackage returns the exported identifiers of a package with their declarations.
func goPackage(t *testing.T, folder string) facts {
	t.Helper()
	f, set := facts{}, token.NewFileSet()
	files, err := filepath.Glob(root + folder + "/*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(set, file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range parsed.Decls {
			declared(f, set, folder, d)
		}
	}
	return f
}

func declared(f facts, set *token.FileSet, pkg string, d ast.Decl) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		name := pkg + "."
		if d.Recv != nil {
			receiver := strings.TrimPrefix(source(set, d.Recv.List[0].Type), "*")
			if !ast.IsExported(receiver) {
				return
			}
			name += receiver + "."
		}
		if d.Name.IsExported() {
			f.add(name+d.Name.Name, source(set, d.Type))
		}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.ValueSpec:
				for i, n := range s.Names {
					if n.IsExported() {
						f.add(pkg+"."+n.Name, valueDeclared(set, d.Tok, s, i))
					}
				}
			case *ast.TypeSpec:
				if s.Name.IsExported() {
					typeDeclared(f, set, pkg+"."+s.Name.Name, s)
				}
			}
		}
	}
}

// valueDeclared returns the type of a variable or constant as it is written, and a constant's value.
func valueDeclared(set *token.FileSet, kind token.Token, s *ast.ValueSpec, i int) string {
	text := kind.String()
	if s.Type != nil {
		text += " " + source(set, s.Type)
	}
	if kind == token.CONST && i < len(s.Values) {
		text += " = " + source(set, s.Values[i])
	}
	return text
}

func typeDeclared(f facts, set *token.FileSet, name string, s *ast.TypeSpec) {
	of, ok := s.Type.(*ast.StructType)
	if !ok {
		alias := "type "
		if s.Assign.IsValid() {
			alias = "alias of "
		}
		f.add(name, alias+source(set, s.Type))
		return
	}
	f.add(name, "struct")
	for _, field := range of.Fields.List {
		for _, n := range field.Names {
			if n.IsExported() {
				f.add(name+"."+n.Name, source(set, field.Type))
			}
		}
		if len(field.Names) == 0 {
			f.add(name+"."+source(set, field.Type), "embedded")
		}
	}
}

// source returns an expression as it is written, in one line.
func source(set *token.FileSet, node any) string {
	var b bytes.Buffer
	if err := printer.Fprint(&b, set, node); err != nil {
		return err.Error()
	}
	return strings.Join(strings.Fields(b.String()), " ")
}
