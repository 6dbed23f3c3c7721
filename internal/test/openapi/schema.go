package openapi

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// base is the document's address within the compiler.
const base = "https://schema.test/openapi.json"

// Document is an OpenAPI 3.1 document, whose schemas are JSON Schema of 2020-12. Its
// methods can be called from several goroutines.
type Document struct {
	mu       sync.Mutex
	compiler *jsonschema.Compiler
}

// NewDocument reads a document, and fails the test if it is no JSON.
func NewDocument(t testing.TB, document []byte) *Document {
	t.Helper()
	parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(document))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	c.AssertContent()
	c.UseRegexpEngine(compileECMA)
	if err := c.AddResource(base, parsed); err != nil {
		t.Fatal(err)
	}
	return &Document{compiler: c}
}

// Validate reports how a value differs from the schema at a path of the document, such
// as components, schemas, Error. The value is JSON.
func (d *Document) Validate(value []byte, path ...string) error {
	escape := strings.NewReplacer("~", "~0", "/", "~1", "%", "%25", "{", "%7B", "}", "%7D")
	pointer := base + "#"
	for _, part := range path {
		pointer += "/" + escape.Replace(part)
	}
	d.mu.Lock()
	schema, err := d.compiler.Compile(pointer)
	d.mu.Unlock()
	if err != nil {
		return fmt.Errorf("compile the schema at %v: %w", path, err)
	}
	parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(value))
	if err != nil {
		return fmt.Errorf("%s: %w", value, err)
	}
	return schema.Validate(parsed)
}

// unicodeEscape is \u0000 in the patterns of JSON Schema, which Go writes as \x{0000}.
var unicodeEscape = regexp.MustCompile(`\\u([0-9a-fA-F]{4})`)

func compileECMA(pattern string) (jsonschema.Regexp, error) {
	r, err := regexp.Compile(unicodeEscape.ReplaceAllString(pattern, `\x{$1}`))
	if err != nil {
		return nil, err
	}
	return (*ecma)(r), nil
}

type ecma regexp.Regexp

func (r *ecma) MatchString(s string) bool { return (*regexp.Regexp)(r).MatchString(s) }
func (r *ecma) String() string            { return (*regexp.Regexp)(r).String() }
