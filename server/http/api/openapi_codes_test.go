package api

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/http/auth"
)

// Each code that a handler can return by itself, or through the functions of this
// package that it calls, is declared for its route. What the components return shows
// FuzzRoutes in package server.
func TestOpenAPIDeclaresHandlersCodes(t *testing.T) {
	t.Parallel()
	functions := readFunctions(t)
	handlers := map[string]string{}
	for _, r := range everything(&trail{}).handlers.routes() {
		handlers[r.method+" "+r.path] = functionName(r.handle)
	}
	found := 0
	for _, o := range operations() {
		if o.tag == "about" {
			continue
		}
		declared := slices.Concat(o.codes, everywhere)
		for code, by := range functions.codes(t, handlers[o.route]) {
			found++
			if !slices.Contains(declared, code) {
				t.Errorf("%s may return %s (in %s) and does not declare it", o.route, code, by)
			}
		}
	}
	if found < 150 {
		t.Errorf("got %d codes of routes, want at least 150", found)
	}
}

// functionName is the name of the method or function that a handler is, or that made it.
func functionName(h handler) string {
	// Such as api.(*increments).increment-fm, or api.(*handlers).adminRoutes.setStatus.func1.
	name := runtime.FuncForPC(reflect.ValueOf(h).Pointer()).Name()
	parts := strings.Split(strings.TrimSuffix(name, "-fm"), ".")
	for strings.HasPrefix(parts[len(parts)-1], "func") {
		parts = parts[:len(parts)-1]
	}
	if len(parts) > 2 && strings.HasPrefix(parts[len(parts)-2], "(") {
		return "." + parts[len(parts)-1]
	}
	return parts[len(parts)-1]
}

// function is what the source of a function or method of this package names.
type function struct {
	codes []wire.Code
	calls []string
}

// functions are the functions by name, and the methods by name after a dot.
type functions map[string]*function

// codes returns the codes that a function returns, and which function does.
func (f functions) codes(t *testing.T, name string) map[wire.Code]string {
	t.Helper()
	if f[name] == nil {
		t.Fatalf("the source of the handler %s was not found", name)
	}
	found, seen := map[wire.Code]string{}, map[string]bool{}
	for next := []string{name}; len(next) > 0; next = next[1:] {
		// The errors of a batch's items are in its results.
		if seen[next[0]] || f[next[0]] == nil || next[0] == ".batchItem" {
			continue
		}
		seen[next[0]] = true
		for _, code := range f[next[0]].codes {
			found[code] = next[0]
		}
		next = append(next, f[next[0]].calls...)
	}
	return found
}

func readFunctions(t *testing.T) functions {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) == 0 {
		t.Fatal("the source of package api is missing", err)
	}
	values, f := codeValues(t), functions{}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range parsed.Decls {
			if d, ok := d.(*ast.FuncDecl); ok && d.Body != nil {
				name := d.Name.Name
				if d.Recv != nil {
					name = "." + name
				}
				f[name] = readFunction(d, values)
			}
		}
	}
	return f
}

func readFunction(d *ast.FuncDecl, values map[string]wire.Code) *function {
	f := &function{}
	ast.Inspect(d.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.KeyValueExpr: // scoreboard.Error{Code: …}
			if key, ok := n.Key.(*ast.Ident); ok && key.Name == "Code" {
				f.add(values[selector(n.Value, "wire")])
			}
		case *ast.SelectorExpr: // h.access.board, called or passed
			if x := root(n); x != nil && x.Obj != nil {
				f.calls = append(f.calls, "."+n.Sel.Name)
			}
		case *ast.CallExpr:
			switch {
			case selector(n.Fun, "scoreboard") == "Errorf":
				f.add(values[selector(n.Args[0], "wire")])
			case selector(n.Fun, "scoreboard") == "Invalid", strings.HasPrefix(selector(n.Fun, "scoreboard"), "Parse"),
				strings.HasPrefix(selector(n.Fun, "protocol"), "Decode"):
				f.add(wire.CodeInvalidRequest)
			case selector(n.Fun, "auth") == "ErrSignature":
				f.add(wire.CodeOf(auth.ErrSignature()))
			}
			if called, ok := n.Fun.(*ast.Ident); ok {
				f.calls = append(f.calls, called.Name)
			}
		}
		return true
	})
	return f
}

// root is the identifier that a chain of selectors begins with; nil for anything else.
func root(n *ast.SelectorExpr) *ast.Ident {
	switch x := n.X.(type) {
	case *ast.Ident:
		return x
	case *ast.SelectorExpr:
		return root(x)
	}
	return nil
}

func (f *function) add(code wire.Code) {
	if code != "" {
		f.codes = append(f.codes, code)
	}
}

// selector is Name in pkg.Name; "" for anything else.
func selector(e ast.Expr, pkg string) string {
	if s, ok := e.(*ast.SelectorExpr); ok {
		if x, ok := s.X.(*ast.Ident); ok && x.Name == pkg && x.Obj == nil {
			return s.Sel.Name
		}
	}
	return ""
}

// codeValues are the values of the constants CodeX of package wire.
func codeValues(t *testing.T) map[string]wire.Code {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), "../../../client/wire/code.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]wire.Code{}
	ast.Inspect(parsed, func(n ast.Node) bool {
		v, ok := n.(*ast.ValueSpec)
		if !ok || len(v.Names) != 1 || len(v.Values) != 1 || !strings.HasPrefix(v.Names[0].Name, "Code") {
			return true
		}
		if literal, ok := v.Values[0].(*ast.BasicLit); ok {
			text, err := strconv.Unquote(literal.Value)
			if err != nil {
				t.Fatal(err)
			}
			values[v.Names[0].Name] = wire.Code(text)
		}
		return true
	})
	if len(values) != len(statuses) {
		t.Fatalf("%d of %d codes were found", len(values), len(statuses))
	}
	return values
}
