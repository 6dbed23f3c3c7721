package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"text/template"

	"gopkg.in/yaml.v3"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// formats are the values of --output that every command has. What follows template= is a
// template.
var formats = []string{"table", "json", "ndjson", "csv", "yaml", "template="}

const templatePrefix = "template="

// structured reports whether results are printed for programs instead of people.
func (out *output) structured() bool { return out.format != "table" }

// parseTemplate parses the template of --output template=… over the fields of the JSON.
func parseTemplate(text string) (*template.Template, error) {
	return template.New("template").Funcs(template.FuncMap{
		"json": func(v any) (string, error) {
			b, err := json.Marshal(v)
			return string(b), err
		},
	}).Parse(text)
}

// printStructured prints a value for programs. ndjson and csv have a line for each row of
// a list; the other formats print the whole value.
func (out *output) printStructured(value any) error {
	switch {
	case out.format == "json":
		return writeJSON(out.stdout, value, "  ")
	case out.format == "ndjson":
		for _, row := range rowsOf(value) {
			if err := writeJSON(out.stdout, row, ""); err != nil {
				return err
			}
		}
		return nil
	case out.format == "csv":
		return out.printCSV(rowsOf(value))
	case out.format == "yaml":
		return out.printYAML(value)
	}
	return out.printTemplate(value, strings.TrimPrefix(out.format, templatePrefix))
}

func writeJSON(w io.Writer, value any, indent string) error {
	encoder := json.NewEncoder(&jsonEscaper{w: w})
	encoder.SetIndent("", indent)
	encoder.SetEscapeHTML(false)
	return encoder.Encode(value)
}

// rowsOf returns the rows of a result that is a list, else the result as the only row.
// They are the rows of the table.
func rowsOf(value any) []any {
	switch v := value.(type) {
	case client.Top:
		return list(v.Entries)
	case client.Place:
		if len(v.Neighbours) > 0 {
			return list(v.Neighbours)
		}
	case client.Statement:
		return list(v.Entries)
	case client.FinalStandings:
		return list(v.Entries)
	case client.Boards:
		return list(v.Boards)
	case client.AuditEntries:
		return list(v.Entries)
	case client.Flags:
		return list(v.Flags)
	case client.DeadLetters:
		return list(v.Letters)
	case client.Outbox:
		return list(v.Shards)
	case client.Event:
		if len(v.Receipts) > 0 {
			return list(v.Receipts)
		}
	case client.Archived:
		return list(v.Partitions)
	case diagnosis:
		return list(v.Checks)
	case *wire.Verified:
		return list(v.Differences)
	}
	if v := reflect.ValueOf(value); v.Kind() == reflect.Slice {
		rows := make([]any, v.Len())
		for i := range rows {
			rows[i] = v.Index(i).Interface()
		}
		return rows
	}
	return []any{value}
}

func list[T any](rows []T) []any {
	all := make([]any, len(rows))
	for i := range rows {
		all[i] = rows[i]
	}
	return all
}

// node is the JSON of a value as a tree, which keeps the order of the fields.
func node(value any) (*yaml.Node, error) {
	var b bytes.Buffer
	if err := writeJSON(&b, value, ""); err != nil {
		return nil, err
	}
	var doc yaml.Node // JSON is YAML
	if err := yaml.Unmarshal(b.Bytes(), &doc); err != nil {
		return nil, fmt.Errorf("convert the result: %w", err)
	}
	return doc.Content[0], nil
}

// printCSV prints the fields of the rows in columns, in the order of the JSON. A field
// that is not a single value is JSON.
func (out *output) printCSV(rows []any) error {
	var header []string
	var records []map[string]string
	for _, row := range rows {
		n, err := node(row)
		if err != nil {
			return err
		}
		record := map[string]string{}
		if n.Kind != yaml.MappingNode {
			n = &yaml.Node{Content: []*yaml.Node{{Value: "value"}, n}}
		}
		for i := 0; i+1 < len(n.Content); i += 2 {
			name := n.Content[i].Value
			if !slices.Contains(header, name) {
				header = append(header, name)
			}
			if record[name], err = csvCell(n.Content[i+1]); err != nil {
				return err
			}
		}
		records = append(records, record)
	}
	w := csv.NewWriter(out.stdout)
	if !out.printedHeader {
		_ = w.Write(header) // Error returns what fails
	}
	out.printedHeader = out.repeats
	for _, record := range records {
		cells := make([]string, len(header))
		for i, name := range header {
			cells[i] = record[name]
		}
		_ = w.Write(cells)
	}
	w.Flush()
	return w.Error()
}

func csvCell(n *yaml.Node) (string, error) {
	if n.Kind == yaml.ScalarNode {
		if n.Tag == "!!null" {
			return "", nil
		}
		text := scoreboard.Escape(n.Value)
		if n.Tag == "!!str" && isFormula(text) {
			text = "'" + text
		}
		return text, nil
	}
	var value any
	if err := n.Decode(&value); err != nil {
		return "", err
	}
	var b strings.Builder
	err := writeJSON(&b, value, "")
	return strings.TrimSpace(b.String()), err
}

// isFormula reports whether a spreadsheet would compute a cell instead of showing it. Names come
// from players, so such a cell gets an apostrophe, which spreadsheets hide.
func isFormula(text string) bool {
	return text != "" && strings.ContainsRune("=+-@\t\r", rune(text[0]))
}

func (out *output) printYAML(value any) error {
	n, err := node(value)
	if err != nil {
		return err
	}
	plainStyle(n)
	if out.repeats {
		if _, err := io.WriteString(out.stdout, "---\n"); err != nil {
			return err
		}
	}
	encoder := yaml.NewEncoder(out.stdout)
	encoder.SetIndent(2)
	if err := encoder.Encode(n); err != nil {
		return err
	}
	return encoder.Close()
}

// plainStyle has a tree written in the style of YAML instead of JSON, with escaped texts.
func plainStyle(n *yaml.Node) {
	n.Style = 0
	if n.Kind == yaml.ScalarNode && n.Tag == "!!str" {
		n.Value = scoreboard.Escape(n.Value)
	}
	for _, child := range n.Content {
		plainStyle(child)
	}
}

func (out *output) printTemplate(value any, text string) error {
	t, err := parseTemplate(text)
	if err != nil {
		return usagef("--output %s: %w", out.format, err)
	}
	var encoded bytes.Buffer
	if err := writeJSON(&encoded, value, ""); err != nil {
		return err
	}
	decoder := json.NewDecoder(&encoded)
	decoder.UseNumber() // numbers as they are in the JSON
	var fields any
	if err := decoder.Decode(&fields); err != nil {
		return err
	}
	var printed strings.Builder
	if err := t.Execute(&printed, escapeValues(fields)); err != nil {
		return usagef("--output template: %w", err)
	}
	if !strings.HasSuffix(printed.String(), "\n") {
		printed.WriteString("\n")
	}
	_, err = io.WriteString(out.stdout, printed.String())
	return err
}

// escapeValues escapes the texts of a decoded JSON value, as tables do.
func escapeValues(value any) any {
	switch v := value.(type) {
	case string:
		return scoreboard.Escape(v)
	case []any:
		for i := range v {
			v[i] = escapeValues(v[i])
		}
	case map[string]any:
		escaped := make(map[string]any, len(v))
		for name, field := range v {
			escaped[scoreboard.Escape(name)] = escapeValues(field)
		}
		return escaped
	}
	return value
}
