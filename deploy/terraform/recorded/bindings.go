package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/hashicorp/terraform-plugin-sdk/v2/helper/schema"
)

// bindings are those of one resource.
type bindings struct {
	resource string // its type
	main     string // the interface of its arguments
	args     map[string][]argument
	outputs  map[string]string // the code of the classes that read results, by interface
}

// argument is a member of an interface.
type argument struct {
	name            string
	block, required bool
	typed           string // as TypeScript has it
}

var (
	interfaces = regexp.MustCompile(`(?ms)^export interface (\w+)( extends cdktf\.TerraformMetaArguments)? \{\n(.*?)^\}`)
	members    = regexp.MustCompile(`(?s)/\*\*(.*?)\*/\s+readonly \w+(\??): (\{[^}]*\}|[^;]+)( \| undefined)?;`)
	links      = regexp.MustCompile(`#(\w+) \w+#\w+\}`)
	classes    = regexp.MustCompile(`(?m)^(?:export )?class (\w+) extends`)
	resources  = regexp.MustCompile(`static readonly tfResourceType = "(\w+)"`)
	simple     = regexp.MustCompile(`get \w+\(\) \{\s+return (cdktf\.Fn\.tolist\()?(?:cdktf\.token\.asNumberList\()?` +
		`this\.get(\w+)Attribute\('(\w+)'\)`)
	complexes = regexp.MustCompile(`new (\w+?)(List|Map|OutputReference)\(this, "(\w+)"(?:, (\w+))?`)
)

func read(folder string) (*bindings, error) {
	types, err := os.ReadFile(filepath.Join(folder, "index.d.ts"))
	if err != nil {
		return nil, err
	}
	code, err := os.ReadFile(filepath.Join(folder, "index.js"))
	if err != nil {
		return nil, err
	}
	b := &bindings{args: map[string][]argument{}, outputs: map[string]string{}}
	if m := resources.FindSubmatch(types); m != nil {
		b.resource = string(m[1])
	}
	for _, m := range interfaces.FindAllStringSubmatch(string(types), -1) {
		if m[2] != "" || b.main == "" && strings.HasSuffix(m[1], "ProviderConfig") {
			b.main = m[1]
		}
		all := []argument{}
		for _, member := range members.FindAllStringSubmatch(m[3], -1) {
			link := links.FindStringSubmatch(member[1])
			if link == nil {
				return nil, fmt.Errorf("%s: %s has a member without a name:\n%s", folder, m[1], member[0])
			}
			all = append(all, argument{
				name: link[1], block: strings.Contains(member[1], "* "+link[1]+" block"),
				required: member[2] == "", typed: member[3],
			})
		}
		b.args[m[1]] = all
	}
	starts := classes.FindAllStringSubmatchIndex(string(code), -1)
	for i, at := range starts {
		end := len(code)
		if i+1 < len(starts) {
			end = starts[i+1][0]
		}
		name := string(code[at[2]:at[3]])
		b.outputs[strings.TrimSuffix(name, "OutputReference")] = string(code[at[0]:end])
	}
	b.outputs[b.main] = b.outputs[strings.TrimSuffix(b.main, "Config")]
	return b, nil
}

// attributes returns the schema of an interface with what its class reads in addition.
func (b *bindings) attributes(of string) (map[string]*schema.Schema, error) {
	all := make(map[string]*schema.Schema)
	code := b.outputs[of]
	sets := make(map[string]bool)
	for _, m := range simple.FindAllStringSubmatch(code, -1) {
		sets[m[3]] = m[1] != ""
	}
	for _, m := range complexes.FindAllStringSubmatch(code, -1) {
		sets[m[3]] = m[4] == "true"
	}
	for _, a := range b.args[of] {
		s, err := b.argument(a, sets[a.name])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", a.name, err)
		}
		all[a.name] = s
	}
	// The rest is computed.
	for _, m := range simple.FindAllStringSubmatch(code, -1) {
		if all[m[3]] == nil {
			s, err := scalar(m[2], m[1] != "")
			if err != nil {
				return nil, fmt.Errorf("%s: %w", m[3], err)
			}
			s.Computed = true
			all[m[3]] = s
		}
	}
	for _, m := range complexes.FindAllStringSubmatch(code, -1) {
		if all[m[3]] != nil {
			continue
		}
		inner, err := b.attributes(m[1])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", m[3], err)
		}
		all[m[3]] = &schema.Schema{Type: listOr(m[4] == "true"), Computed: true, Elem: &schema.Resource{Schema: inner}}
	}
	return all, nil
}

func listOr(set bool) schema.ValueType {
	if set {
		return schema.TypeSet
	}
	return schema.TypeList
}

// scalar is what the method get…Attribute returns.
func scalar(kind string, set bool) (*schema.Schema, error) {
	switch kind {
	case "String":
		return &schema.Schema{Type: schema.TypeString}, nil
	case "Number":
		return &schema.Schema{Type: schema.TypeFloat}, nil
	case "Boolean":
		return &schema.Schema{Type: schema.TypeBool}, nil
	case "List":
		return &schema.Schema{Type: listOr(set), Elem: &schema.Schema{Type: schema.TypeString}}, nil
	case "NumberList":
		return &schema.Schema{Type: listOr(set), Elem: &schema.Schema{Type: schema.TypeFloat}}, nil
	case "StringMap", "AnyMap", "NumberMap", "BooleanMap":
		return &schema.Schema{Type: schema.TypeMap, Elem: &schema.Schema{Type: schema.TypeString}}, nil
	}
	return nil, fmt.Errorf("a result of an unknown kind, %s", kind)
}

// argument is what can be set. Whether an optional argument has a default is not in the
// bindings: those that are left out are unknown until they are applied.
func (b *bindings) argument(a argument, set bool) (s *schema.Schema, err error) {
	typed := strings.TrimSpace(strings.ReplaceAll(a.typed, " | cdktf.IResolvable", ""))
	element, many := strings.CutSuffix(typed, "[]")
	switch {
	case b.resource == "aws_wafv2_web_acl" && a.name == "statement":
		return statement(), nil
	case b.args[element] != nil:
		fields, err := b.attributes(element)
		if err != nil {
			return nil, err
		}
		s = &schema.Schema{Type: listOr(set), Elem: &schema.Resource{Schema: fields}}
		if !many {
			s.MaxItems = 1
		}
		if !a.block {
			s.ConfigMode = schema.SchemaConfigModeAttr
		}
	case typed == "string":
		s, err = scalar("String", set)
	case typed == "number":
		s, err = scalar("Number", set)
	case typed == "boolean":
		s, err = scalar("Boolean", set)
	case typed == "string[]":
		s, err = scalar("List", set)
	case typed == "number[]":
		s, err = scalar("NumberList", set)
	case strings.HasPrefix(typed, "{"):
		s, err = scalar("StringMap", set)
	default:
		return nil, fmt.Errorf("an argument of an unknown type, %s", typed)
	}
	if err != nil {
		return nil, err
	}
	s.Required, s.Optional, s.Computed = a.required, !a.required, !a.required && !a.block
	return s, nil
}
