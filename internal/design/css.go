package design

import (
	"fmt"
	"html/template"
	"reflect"
	"strings"
	"unicode"
)

// CSS returns the tokens as custom properties of :root, such as --text, --good-soft and
// --size-l. The theme is that of the viewer's system, or that of the attribute data-theme
// (dark or light) of the root element.
func CSS() template.CSS {
	var b strings.Builder
	b.WriteString(":root {\n  color-scheme: light dark;\n")
	for _, size := range sizes {
		fmt.Fprintf(&b, "  --%s: %s;\n", size[0], size[1])
	}
	dark, light := reflect.ValueOf(Dark), reflect.ValueOf(Light)
	for i := range light.NumField() {
		name := property(light.Type().Field(i).Name)
		fmt.Fprintf(&b, "  --%s: light-dark(%s, %s);\n", name, light.Field(i), dark.Field(i))
	}
	b.WriteString("}\n")
	for _, theme := range []string{"light", "dark"} {
		fmt.Fprintf(&b, ":root[data-theme=%s] { color-scheme: %[1]s; }\n", theme)
	}
	return template.CSS(b.String()) //nolint:gosec // built from constants
}

// property returns the name of a field as a custom property: OnAccent is on-accent.
func property(field string) string {
	var b strings.Builder
	for i, r := range field {
		if unicode.IsUpper(r) && i > 0 {
			b.WriteByte('-')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}
