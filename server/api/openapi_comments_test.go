package api

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// comments returns the comments on package protocol's types and their fields.
func comments(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("../protocol/*.go")
	if err != nil || len(files) == 0 {
		t.Fatal("the source of package protocol is missing", err)
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
