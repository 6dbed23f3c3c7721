package api

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"slices"
	"strings"
	"testing"
)

// Every line that a handler logs names its request: it is written to requestLog, which adds the ids.
func TestRequestLogsNameTheRequest(t *testing.T) {
	t.Parallel()
	files, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	set, checked := token.NewFileSet(), 0
	for _, file := range files {
		name := file.Name()
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(set, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			f, ok := n.(*ast.FuncDecl)
			if !ok || !hasContext(f.Type) {
				return true
			}
			ast.Inspect(f, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok {
					return true
				}
				method, ok := call.Fun.(*ast.SelectorExpr)
				levels := []string{"Debug", "Info", "Warn", "Error", "Log", "LogAttrs"}
				if !ok || !slices.Contains(levels, method.Sel.Name) {
					return true
				}
				switch to := method.X.(type) {
				case *ast.SelectorExpr:
					if to.Sel.Name == "log" {
						t.Errorf("%s: a line without the ids of its request", set.Position(call.Pos()))
					}
				case *ast.CallExpr:
					if name, ok := to.Fun.(*ast.Ident); ok && name.Name == "requestLog" {
						checked++
					}
				}
				return true
			})
			return false
		})
	}
	if checked < 10 {
		t.Errorf("only %d lines of requests were found", checked)
	}
}

// hasContext reports whether a function gets the context of a request.
func hasContext(f *ast.FuncType) bool {
	return slices.ContainsFunc(f.Params.List, func(p *ast.Field) bool {
		star, ok := p.Type.(*ast.StarExpr)
		if !ok {
			return false
		}
		of, ok := star.X.(*ast.SelectorExpr)
		return ok && of.Sel.Name == "Context"
	})
}
