package openapi

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// Comments returns the comments on the types of Go files and on their fields, by "Type"
// and "Type.Field".
func Comments(t testing.TB, pattern string) map[string]string {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("the source %s is missing: %v", pattern, err)
	}
	found := map[string]string{}
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range parsed.Decls {
			group, ok := decl.(*ast.GenDecl)
			if !ok || group.Tok != token.TYPE {
				continue
			}
			for _, spec := range group.Specs {
				typ := spec.(*ast.TypeSpec)
				found[typ.Name.Name] = oneLine(group.Doc, typ.Doc)
				body, ok := typ.Type.(*ast.StructType)
				if !ok {
					continue
				}
				for _, field := range body.Fields.List {
					for _, name := range field.Names {
						found[fmt.Sprintf("%s.%s", typ.Name.Name, name.Name)] = oneLine(field.Doc, field.Comment)
					}
				}
			}
		}
	}
	return found
}

func oneLine(groups ...*ast.CommentGroup) string {
	var text string
	for _, g := range groups {
		text += " " + g.Text()
	}
	return strings.Join(strings.Fields(text), " ")
}
