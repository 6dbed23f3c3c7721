// Command kubeschemas makes the schemas that kubeconform checks manifests with, from the
// API document of Kubernetes (swagger.json) and from CRDs:
//
//	go run ./deploy/kubeschemas OUT swagger.json CRD.yaml…
//
// Each is in OUT as GROUP_VERSION_KIND.json in lower case; the group of pods and services
// is their version. A field that the API does not have is an error: Kubernetes would ignore
// or reject it.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"gopkg.in/yaml.v3"
)

func main() {
	if len(os.Args) < 4 {
		fmt.Fprintln(os.Stderr, "usage: kubeschemas OUT swagger.json CRD.yaml…")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2], os.Args[3:]); err != nil {
		fmt.Fprintln(os.Stderr, "kubeschemas:", err)
		os.Exit(1)
	}
}

func run(out, swagger string, crds []string) error {
	if err := os.MkdirAll(out, 0o750); err != nil {
		return err
	}
	if err := builtIn(out, swagger); err != nil {
		return fmt.Errorf("%s: %w", swagger, err)
	}
	for _, crd := range crds {
		if err := custom(out, crd); err != nil {
			return fmt.Errorf("%s: %w", crd, err)
		}
	}
	return nil
}

type object = map[string]any

// builtIn writes the kinds of the API document, each with the definitions that it uses.
func builtIn(out, swagger string) error {
	text, err := os.ReadFile(swagger)
	if err != nil {
		return err
	}
	var document struct{ Definitions map[string]object }
	if err := json.Unmarshal(text, &document); err != nil {
		return err
	}
	for _, d := range document.Definitions {
		closeFields(d)
	}
	// The document describes these by the form in which clients usually write them.
	either := object{"oneOf": []any{object{"type": "string"}, object{"type": "integer"}}}
	document.Definitions["io.k8s.apimachinery.pkg.util.intstr.IntOrString"] = either
	number := object{"oneOf": []any{object{"type": "string"}, object{"type": "number"}}}
	document.Definitions["io.k8s.apimachinery.pkg.api.resource.Quantity"] = number
	for name, d := range document.Definitions {
		kinds, _ := d["x-kubernetes-group-version-kind"].([]any)
		if len(kinds) != 1 {
			continue // not a kind, or one that every group has
		}
		kind := kinds[0].(object)
		used := object{}
		collect(document.Definitions, name, used)
		schema := object{"$ref": "#/definitions/" + name, "definitions": used}
		group, version := kind["group"].(string), kind["version"].(string)
		if err := write(out, group, version, kind["kind"].(string), schema); err != nil {
			return err
		}
	}
	return nil
}

// collect adds a definition and those that it refers to.
func collect(all map[string]object, name string, used object) {
	if used[name] != nil {
		return
	}
	used[name] = all[name]
	var visit func(any)
	visit = func(v any) {
		switch v := v.(type) {
		case object:
			if ref, ok := v["$ref"].(string); ok {
				collect(all, strings.TrimPrefix(ref, "#/definitions/"), used)
			}
			for _, child := range v {
				visit(child)
			}
		case []any:
			for _, child := range v {
				visit(child)
			}
		}
	}
	visit(all[name])
}

// closeFields forbids fields that a schema does not list.
func closeFields(v any) {
	switch v := v.(type) {
	case object:
		_, listed := v["properties"].(object)
		_, open := v["additionalProperties"]
		if listed && !open && v["x-kubernetes-preserve-unknown-fields"] != true {
			v["additionalProperties"] = false
		}
		if v["x-kubernetes-int-or-string"] == true {
			v["type"] = []any{"integer", "string"}
		}
		for _, child := range v {
			closeFields(child)
		}
	case []any:
		for _, child := range v {
			closeFields(child)
		}
	}
}

// custom writes the versions of a custom resource.
func custom(out, path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var crd struct {
		Spec struct {
			Group    string
			Names    struct{ Kind string }
			Versions []struct {
				Name   string
				Schema struct {
					Open object `yaml:"openAPIV3Schema"`
				}
			}
		}
	}
	if err := yaml.Unmarshal(text, &crd); err != nil {
		return err
	}
	if len(crd.Spec.Versions) == 0 {
		return errors.New("no versions of a custom resource")
	}
	for _, v := range crd.Spec.Versions {
		closeFields(v.Schema.Open)
		// Every object has these.
		properties, ok := v.Schema.Open["properties"].(object)
		if !ok {
			return fmt.Errorf("version %s has no properties", v.Name)
		}
		properties["metadata"] = object{"type": "object"}
		if err := write(out, crd.Spec.Group, v.Name, crd.Spec.Names.Kind, v.Schema.Open); err != nil {
			return err
		}
	}
	return nil
}

func write(out, group, version, kind string, schema object) error {
	if group == "" {
		group = version // as kubeconform has it
	}
	name := strings.ToLower(group + "_" + version + "_" + kind + ".json")
	text, err := json.Marshal(schema)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(out, name), text, 0o600)
}
