// Command sbom prints the bill of materials of a Go binary in CycloneDX 1.6, from
// the build information in the binary. Its output is reproducible.
//
//	go run ./deploy/sbom bin/sbctl > sbctl.cdx.json
package main

import (
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
)

type bom struct {
	Format       string       `json:"bomFormat"`
	Spec         string       `json:"specVersion"`
	Version      int          `json:"version"`
	Metadata     metadata     `json:"metadata"`
	Components   []component  `json:"components"`
	Dependencies []dependency `json:"dependencies"`
}

type metadata struct {
	Component component `json:"component"`
}

type component struct {
	Type       string     `json:"type"`
	Ref        string     `json:"bom-ref"`
	Name       string     `json:"name"`
	Version    string     `json:"version,omitempty"`
	PURL       string     `json:"purl,omitempty"`
	Properties []property `json:"properties,omitempty"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type dependency struct {
	Ref string   `json:"ref"`
	On  []string `json:"dependsOn"`
}

func main() {
	if len(os.Args) < 2 || len(os.Args) > 3 {
		fmt.Fprintln(os.Stderr, "usage: sbom BINARY [VERSION]")
		os.Exit(2)
	}
	if err := write(os.Stdout, os.Args[1], strings.Join(os.Args[2:], "")); err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

// write prints the bill of a binary. A version replaces that of the build
// information.
func write(w io.Writer, path, version string) error {
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return err
	}
	if version == "" {
		version = info.Main.Version
	}
	name := strings.TrimSuffix(filepath.Base(path), ".exe")
	main := component{Type: "application", Ref: name, Name: name, Version: version}
	for _, s := range info.Settings {
		if s.Key == "GOOS" || s.Key == "GOARCH" || s.Key == "CGO_ENABLED" {
			main.Properties = append(main.Properties, property{"build:" + s.Key, s.Value})
		}
	}
	b := bom{Format: "CycloneDX", Spec: "1.6", Version: 1, Metadata: metadata{main}}
	uses := dependency{Ref: name}
	add := func(c component) {
		b.Components = append(b.Components, c)
		uses.On = append(uses.On, c.Ref)
	}
	std := strings.TrimPrefix(info.GoVersion, "go")
	add(component{Type: "library", Ref: "std", Name: "std", Version: std, PURL: "pkg:golang/std@" + std})
	for _, module := range info.Deps {
		add(library(module))
	}
	b.Dependencies = []dependency{uses}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(b)
}

func library(m *debug.Module) component {
	if m.Replace != nil {
		m = m.Replace
	}
	purl := "pkg:golang/" + m.Path + "@" + m.Version
	c := component{Type: "library", Ref: purl, Name: m.Path, Version: m.Version, PURL: purl}
	if m.Sum != "" {
		c.Properties = []property{{"go:sum", m.Sum}}
	}
	return c
}
