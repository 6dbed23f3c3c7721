package openapi

import (
	"encoding/json"
	"testing"
)

// CheckMessage fails for a message that an AsyncAPI document does not describe: one of an unknown type, one that is
// not valid against the schema of its type, and one with a field that the schema lacks.
func CheckMessage(t testing.TB, document, message []byte) {
	t.Helper()
	var d struct {
		Components struct {
			Messages map[string]struct {
				Payload struct{ Properties map[string]any }
			}
		}
	}
	if err := json.Unmarshal(document, &d); err != nil {
		t.Fatal(err)
	}
	var fields map[string]any
	if err := json.Unmarshal(message, &fields); err != nil {
		t.Errorf("%s: %v", message, err)
		return
	}
	kind, _ := fields["type"].(string)
	if name := "webhook." + kind; fields["data"] != nil && d.Components.Messages[name].Payload.Properties != nil {
		kind = name // a stream has messages of this type, too
	}
	described, ok := d.Components.Messages[kind]
	if !ok {
		t.Errorf("the document has no message of the type of %s", message)
		return
	}
	for name := range fields {
		if described.Payload.Properties[name] == nil {
			t.Errorf("the schema of %s has no field %s, which was sent in %s", kind, name, message)
		}
	}
	if err := NewDocument(t, document).Validate(message, "components", "messages", kind, "payload"); err != nil {
		t.Errorf("%s: %v", message, err)
	}
}
