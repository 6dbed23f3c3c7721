package api

import (
	"encoding/json"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/test/openapi"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// The embedded document is what the messages, the types and their comments generate.
func TestAsyncAPIUpToDate(t *testing.T) {
	t.Parallel()
	checkDocument(t, "asyncapi.json", asyncAPI, makeAsyncAPI(t), "AsyncAPI")
}

// The tables of messages in pages are those of the document.
func TestAsyncAPITablesUpToDate(t *testing.T) {
	t.Parallel()
	for page, table := range messageTables() {
		text := readPage(t, page)
		head, _, _ := strings.Cut(table, "\n")
		start := strings.Index(text, head)
		if start < 0 {
			t.Errorf("%s has no table of messages: %s", page, head)
			continue
		}
		end := start + strings.Index(text[start:], "\n\n")
		if text[start:end] == table {
			continue
		}
		if !*update {
			t.Errorf("the table of messages in %s is outdated; "+
				"rewrite it with: go test ./server/http/api -run AsyncAPI -update", page)
			continue
		}
		if err := os.WriteFile("../../../docs/"+page, []byte(text[:start]+table+text[end:]), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// Every type of message, of command and of webhook message is described, with every field of its Go type.
func TestAsyncAPIHasEveryMessage(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("../../../client/wire/message.go")
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, found := range regexp.MustCompile(`(?m)^\tMessage\w+ += "([a-z.]+)"`).FindAllSubmatch(source, -1) {
		want = append(want, string(found[1]))
	}
	if len(want) < 6 {
		t.Errorf("got the messages of streams %q, want at least 6", want)
	}
	want = append(want, "subscribe", "unsubscribe", string(scoreboard.WebhookTest))
	for _, kind := range scoreboard.WebhookTypes {
		want = append(want, string(kind))
	}
	var got []string
	fields := map[reflect.Type][]string{}
	for _, m := range messages() {
		got = append(got, m.kind)
		fields[m.of] = slices.Concat(fields[m.of], m.required, m.optional)
	}
	if slices.Sort(got); !slices.Equal(got, slices.Sorted(slices.Values(want))) {
		t.Errorf("got the messages %q, want %q", got, want)
	}
	for of, described := range fields {
		for _, f := range reflect.VisibleFields(of) {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if name != "type" && !slices.Contains(described, name) {
				t.Errorf("no message has the field %s of %s", name, of)
			}
		}
	}
}

// Every message has an example that its schema describes in full, and docs/protocol.md names every field of it.
func TestAsyncAPIExamples(t *testing.T) {
	t.Parallel()
	openapiReferences(t)
	var d struct {
		Components struct {
			Messages map[string]struct {
				Examples []struct{ Payload json.RawMessage }
			}
		}
	}
	if err := json.Unmarshal(asyncAPI, &d); err != nil {
		t.Fatal(err)
	}
	page := readPage(t, "protocol.md")
	sections := regexp.MustCompile(`(?m)^##+ `).Split(page, -1)
	for _, m := range messages() {
		examples := d.Components.Messages[m.name()].Examples
		if len(examples) == 0 || len(examples[0].Payload) == 0 {
			t.Errorf("%s has no example", m.kind)
			continue
		}
		openapi.CheckMessage(t, asyncAPI, examples[0].Payload)
		if m.data != nil || m.command {
			continue
		}
		var section string
		for _, s := range sections {
			// A delta has the fields of the section before it.
			if strings.HasPrefix(s, m.kind+"\n") ||
				m.kind == wire.MessageDelta && strings.HasPrefix(s, wire.MessageUpdated+"\n") {
				section += s
			}
		}
		for _, field := range slices.Concat(m.required, m.optional) {
			if !strings.Contains(section, "`"+field+"`") && !strings.Contains(section, `"`+field+`"`) {
				t.Errorf("docs/protocol.md does not name the field %s of %s", field, m.kind)
			}
		}
	}
	example := exampleWebhookMessages()["rank.reached"]
	if !strings.Contains(readPage(t, "webhooks.md"), "```json\n"+example+"\n```") {
		t.Errorf("docs/webhooks.md does not have the example %s", example)
	}
}

func openapiReferences(t *testing.T) {
	t.Helper()
	var d any
	if err := json.Unmarshal(asyncAPI, &d); err != nil {
		t.Fatal(err)
	}
	openapi.CheckReferences(t, d)
}
