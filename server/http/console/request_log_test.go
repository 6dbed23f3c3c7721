package console

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"slices"
	"strings"
	"testing"
)

// Every line that the console logs is about a request, and has its id.
func TestConsoleLogsNameTheRequest(t *testing.T) {
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
			call, ok := n.(*ast.CallExpr)
			if !ok || !logs(call) {
				return true
			}
			checked++
			if !slices.ContainsFunc(call.Args, func(arg ast.Expr) bool {
				text, ok := arg.(*ast.BasicLit)
				return ok && text.Value == `"request_id"`
			}) {
				t.Errorf("%s: a line without the id of its request", set.Position(call.Pos()))
			}
			return true
		})
	}
	if checked < 5 {
		t.Errorf("only %d lines of requests were found", checked)
	}
}

// logs reports whether a call writes to a log.
func logs(call *ast.CallExpr) bool {
	method, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || !slices.Contains([]string{"Debug", "Info", "Warn", "Error"}, method.Sel.Name) {
		return false
	}
	to, ok := method.X.(*ast.SelectorExpr)
	return ok && to.Sel.Name == "log"
}
