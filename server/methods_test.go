package server_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// maxMethods is how many methods a type may have. A type with more does several things.
const maxMethods = 35

// largeTypes are the types that are not split yet, with the methods that they may have.
// A number only ever goes down.
var largeTypes = map[string]int{
	// One method for each request of the API, and nothing else: a program calls few of
	// them, finds them by name in one list, and declares an interface of those that it
	// calls. Groups would add a word to every call, and the same table of requests.
	"client.Client": 135,
}

func TestTypesHaveFewMethods(t *testing.T) {
	t.Parallel()
	methods := make(map[string]int)
	err := filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		name := entry.Name()
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (name == "node_modules" || len(name) > 2 && strings.HasPrefix(name, ".")):
			return filepath.SkipDir
		case entry.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		folder := filepath.ToSlash(strings.TrimPrefix(filepath.Dir(path), ".."+string(filepath.Separator)))
		for _, decl := range file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && f.Recv != nil {
				methods[folder+"."+receiverType(f.Recv.List[0].Type)]++
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, n := range methods {
		if limit := max(maxMethods, largeTypes[name]); n > limit {
			t.Errorf("%s has %d methods, at most %d are expected: split it", name, n, limit)
		}
	}
	for name := range largeTypes {
		if n := methods[name]; n <= maxMethods {
			t.Errorf("%s has %d methods: remove it from the list", name, n)
		}
	}
}

// receiverType is the name of a method's type, without * and type parameters.
func receiverType(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiverType(e.X)
	case *ast.IndexExpr:
		return receiverType(e.X)
	case *ast.IndexListExpr:
		return receiverType(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}
