package openapi

import (
	"encoding/json"
	"testing"
)

// EventStream is the media type of server-sent events.
const EventStream = "text/event-stream"

// Event is the schema of a server-sent event whose data are JSON of a schema, as OpenAPI 3.2
// describes the items of a stream.
func Event(data Object) Object {
	return Object{
		"type": "object", "required": []string{"event", "data"}, "properties": Object{
			"id":    Object{"type": "string", "description": "Position in the stream, for Last-Event-ID."},
			"event": Object{"type": "string", "description": "Type of the event."},
			"retry": Object{"type": "integer", "description": "Milliseconds to wait before a new connection."},
			"data": Object{
				"type": "string", "contentMediaType": "application/json", "contentSchema": data,
				"description": "The message, as JSON.",
			},
		},
	}
}

// ExampleEvent is an event with a value as its data.
func ExampleEvent(t testing.TB, id, kind string, value any) Object {
	t.Helper()
	data, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return Object{"id": id, "event": kind, "data": string(data)}
}
