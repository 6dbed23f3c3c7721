package api

import (
	"encoding/json"
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/buildinfo"
	"github.com/scoreboard/scoreboard/internal/test/openapi"
)

// seasonMeanings describe the fields of protocol.SeasonClosed, which docs/events.md explains.
var seasonMeanings = map[string]string{
	"data": "what the message is about", "timestamp": "time of the cause",
	"schema":   "format of the event: 1",
	"event_id": "id of the event, the same in every copy of it", "family": "the periodic board",
	"period": "daily, weekly, monthly, season or cron", "region": "region of the board",
	"mode":  "increment, best or latest",
	"order": "highest or lowest: which score ranks first", "users": "number of users with final standings",
	"standings_version": "format of standings_hash", "top": "the first ten users, best first",
}

// makeAsyncAPI generates the AsyncAPI document from the messages, their types and the comments on those types.
func makeAsyncAPI(t *testing.T) []byte {
	t.Helper()
	meanings := maps.Clone(fieldMeanings)
	maps.Copy(meanings, seasonMeanings)
	comments := openapi.Comments(t, "../../../client/wire/*.go")
	maps.Copy(comments, openapi.Comments(t, "../../protocol/season.go"))
	m := &openapi.Maker{T: t, Schemas: object{}, Comments: comments, Meanings: meanings}
	examples := pageExamples(t)
	maps.Copy(examples, exampleWebhookMessages())
	described, byChannel := object{}, map[string][]object{}
	for _, one := range messages() {
		content := object{
			"name": one.name(), "title": one.name(), "summary": openapi.Sentence(withoutMarkdown(one.when)),
			"contentType": "application/json", "payload": payload(m, one),
			"examples": []object{{"payload": json.RawMessage(examples[one.name()])}},
		}
		if one.data != nil {
			content["description"] = openapi.Sentence("data: " + withoutMarkdown(one.about))
			content["headers"] = object{"$ref": "#/components/schemas/WebhookHeaders"}
		}
		described[one.name()] = content
		for _, channel := range one.channels {
			if one.command {
				channel = commandsOf(channel)
			}
			byChannel[channel] = append(byChannel[channel], object{"$ref": "#/components/messages/" + one.name()})
		}
	}
	// The types that messages are parts of are not schemas of their own.
	for _, whole := range []reflect.Type{
		reflect.TypeFor[wire.Message](), reflect.TypeFor[wire.Command](), reflect.TypeFor[wire.WebhookMessage](),
	} {
		delete(m.Schemas, whole.Name())
	}
	m.Schemas["WebhookHeaders"] = webhookHeaders()
	return openapi.Marshal(t, object{
		"asyncapi": "3.0.0",
		"info": object{
			"title": "scoreboard streams and webhooks", "version": buildinfo.Release,
			"description": "The messages that scoreboard sends as they happen: over WebSockets and event streams to " +
				"clients that follow a board, and as requests to webhooks. /docs/protocol and /docs/webhooks have " +
				"the rules, such as which of two messages is newer, and the codes of closes. /openapi.json describes " +
				"the other operations. Ignore types and fields that you do not know: later versions may add some.",
		},
		"defaultContentType": "application/json",
		"servers": object{
			"webSocket":   asyncServer("wss", "WebSockets over HTTP/1.1.", "ticket", "token"),
			"eventStream": asyncServer("https", "Server-sent events over HTTP/1.1 or HTTP/2.", "ticket", "token"),
		},
		"channels":   channels(byChannel),
		"operations": asyncOperations(byChannel),
		"components": object{
			"messages": described, "schemas": m.Schemas,
			"securitySchemes": object{
				"token": object{"type": "http", "scheme": "bearer", "bearerFormat": "JWT"},
				"ticket": object{
					"type": "httpApiKey", "in": "query", "name": "token",
					"description": "A ticket of GET /v1/realtime/token, for clients that cannot set headers.",
				},
			},
		},
	})
}

// commandsOf names what clients send on a channel.
func commandsOf(channel string) string { return channel + " commands" }

func asyncServer(protocol, description string, schemes ...string) object {
	var security []object
	for _, scheme := range schemes {
		security = append(security, object{"$ref": "#/components/securitySchemes/" + scheme})
	}
	return object{
		"host": "{host}", "protocol": protocol, "description": description, "security": security,
		"variables": object{"host": object{
			"default": "localhost:8080", "description": "Name and port of the server.",
		}},
	}
}

func channels(byChannel map[string][]object) object {
	all := object{}
	add := func(name, path, server, title, description string) object {
		carried := object{}
		for _, ref := range with(byChannel[name], byChannel[commandsOf(name)]...) {
			carried[strings.TrimPrefix(ref["$ref"].(string), "#/components/messages/")] = ref
		}
		c := object{"title": title, "description": description, "messages": carried}
		if path != "" {
			c["address"] = openapi.InBraces(path)
			c["servers"] = []object{{"$ref": "#/servers/" + server}}
		}
		all[name] = c
		return c
	}
	ws := add(channelWebSocket, pathRealtime, "webSocket", "A board over a WebSocket",
		"Messages are text messages. The parameters of the query are those of GET "+pathRealtime+" in /openapi.json. "+
			"The server sends a ping every 30 seconds.")
	ws["bindings"] = object{"ws": object{"method": "GET", "query": queryOf(pathRealtime), "bindingVersion": "0.1.0"}}
	add(channelEventStream, pathRealtime, "eventStream", "A board over an event stream",
		"With the header Accept: text/event-stream. An event has the type of its message as event, the message as "+
			"data, and the id <epoch>:<version> of the state that it shows. The parameters of the query are those of "+
			"GET "+pathRealtime+" in /openapi.json. The server sends a comment every 30 seconds.")
	page := add(channelPageStream, pathPageStream, "eventStream", "A board with a page, over an event stream",
		"As "+channelEventStream+", for boards of the setting web.boards, without a token.")
	page["parameters"] = object{"board": object{"description": openapi.Sentence(pathParams["board"])}}
	hook := add(channelWebhook, "", "", "The address of a webhook",
		"Requests to the URL of the webhook. A request that is not answered with a status of 2xx within 15 seconds is "+
			"repeated, with the same webhook-id.")
	hook["address"] = nil
	return all
}

// queryOf is the schema of the query of a stream's path.
func queryOf(path string) object {
	properties := object{}
	for _, o := range operations() {
		if o.route != "GET "+path {
			continue
		}
		for _, q := range o.query {
			schema := object{"type": q.kind, "description": openapi.Sentence(q.about)}
			bounds, ok := queryBounds[o.route+" "+q.name]
			if !ok {
				bounds = queryBounds[q.name]
			}
			maps.Copy(schema, bounds)
			properties[q.name] = schema
		}
	}
	return object{"type": "object", "properties": properties}
}

func asyncOperations(byChannel map[string][]object) object {
	all := object{}
	add := func(name, action, channel, messages, summary string) object {
		var refs []object
		for _, ref := range byChannel[messages] {
			kind := strings.TrimPrefix(ref["$ref"].(string), "#/components/messages/")
			refs = append(refs, object{"$ref": "#/channels/" + channel + "/messages/" + kind})
		}
		o := object{
			"action": action, "channel": object{"$ref": "#/channels/" + channel}, "messages": refs, "summary": summary,
		}
		all[name] = o
		return o
	}
	add("sendToWebSocket", "send", channelWebSocket, channelWebSocket, "Show a board and the standing of the user.")
	add("receiveCommand", "receive", channelWebSocket, commandsOf(channelWebSocket), "Follow other boards.")
	add("sendToEventStream", "send", channelEventStream, channelEventStream,
		"Show a board and the standing of the user.")
	add("sendToPageStream", "send", channelPageStream, channelPageStream, "Show a board on its page.")
	hook := add("sendToWebhook", "send", channelWebhook, channelWebhook, "Report what has happened to a system.")
	hook["bindings"] = object{"http": object{"method": "POST", "bindingVersion": "0.3.0"}}
	return all
}

// leadsField is what a comment on a field that only some types of messages have begins with.
var leadsField = regexp.MustCompile(`^(?i:in) [a-z.]+( and [a-z.]+)?: `)

// payload is the schema of a message: the part of its Go type that it has.
func payload(m *openapi.Maker, one message) object {
	m.T.Helper()
	m.SchemaOf(one.of)
	whole := m.Schemas[one.of.Name()].(object)["properties"].(object)
	properties := object{"type": object{"type": "string", "const": one.kind, "description": "Type of the message."}}
	for _, name := range with(one.required, one.optional...) {
		field, ok := whole[name].(object)
		if !ok {
			m.T.Errorf("%s has the field %s, which %s lacks", one.kind, name, one.of)
			continue
		}
		field = maps.Clone(field)
		field["description"] = openapi.Sentence(leadsField.ReplaceAllString(field["description"].(string), ""))
		properties[name] = field
	}
	if one.data != nil {
		data := object{"type": "object"}
		if one.data.Name() != "" {
			data = m.SchemaOf(one.data)
		}
		properties["data"] = data
	}
	for _, schema := range m.Schemas { // that reads share with messages, which never have metadata
		fields, _ := schema.(object)["properties"].(object)
		delete(fields, "metadata")
	}
	return object{
		"type": "object", "properties": properties, "required": with([]string{"type"}, one.required...),
	}
}

func webhookHeaders() object {
	header := func(description string) object { return object{"type": "string", "description": description} }
	return object{
		"type": "object", "description": "Headers as Standard Webhooks specifies them.",
		"properties": object{
			"webhook-id":        header("Id of the message, the same for every attempt."),
			"webhook-timestamp": header("Unix time of the attempt, in seconds."),
			"webhook-signature": header("v1, and the HMAC-SHA256 of id.timestamp.body in base64; during a rotation, " +
				"several signatures separated by spaces."),
		},
		"required": []string{"webhook-id", "webhook-timestamp", "webhook-signature"},
	}
}

var markdownLink = regexp.MustCompile(`\[([^\]]+)\]\([^)]*\)`)

func withoutMarkdown(text string) string {
	return strings.ReplaceAll(markdownLink.ReplaceAllString(text, "$1"), "`", "")
}

var jsonBlock = regexp.MustCompile("(?ms)^```json\n(.*?)\n```$")

// pageExamples are the first examples of docs/protocol.md, by the type of the message.
func pageExamples(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, block := range jsonBlock.FindAllStringSubmatch(readPage(t, "protocol.md"), -1) {
		var head struct{ Type string }
		if err := json.Unmarshal([]byte(block[1]), &head); err != nil {
			t.Fatalf("%s: %v", block[1], err)
		}
		if head.Type != "" && found[head.Type] == "" {
			found[head.Type] = block[1]
		}
	}
	return found
}

func readPage(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile("../../../docs/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// messageTables are the tables of messages in pages of docs, by the page.
func messageTables() map[string]string {
	streams := []string{"| `type` | from | over | sent |", "|---|---|---|---|"}
	hooks := []string{"| type | when | `data` |", "|---|---|---|"}
	over := map[string]string{channelWebSocket: "WebSocket", channelEventStream: "event stream"}
	for _, m := range messages() {
		if slices.Contains(m.channels, channelWebhook) {
			hooks = append(hooks, "| `"+m.kind+"` | "+m.when+" | "+m.about+" |")
			continue
		}
		var names []string
		for _, channel := range m.channels {
			if name := over[channel]; name != "" {
				names = append(names, name)
			}
		}
		from := "server"
		if m.command {
			from = "client"
		}
		streams = append(streams,
			"| `"+m.kind+"` | "+from+" | "+strings.Join(names, ", ")+" | "+m.when+" |")
	}
	return map[string]string{"protocol.md": strings.Join(streams, "\n"), "webhooks.md": strings.Join(hooks, "\n")}
}
