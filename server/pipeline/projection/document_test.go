package projection_test

import (
	"os"
	"strings"
	"testing"

	"github.com/scoreboard/scoreboard/server/protocol"
)

// The examples of docs/events.md are compared byte for byte.
func TestDocumentedEventsMatchTheCode(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../docs/events.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := strings.Split(string(text), "```json\n")[1:]
	if len(blocks) != 2 {
		t.Fatalf("%d examples, want a change and a heartbeat", len(blocks))
	}
	for i, block := range blocks {
		example, _, _ := strings.Cut(block, "\n```")
		change, beat, err := protocol.DecodeEvent([]byte(example))
		if err != nil {
			t.Errorf("%s: %v", example, err)
			continue
		}
		var written []byte
		if i == 0 && change != nil {
			written = protocol.AppendEvent(nil, change)
		} else if i == 1 && beat != nil {
			written = protocol.AppendHeartbeat(nil, *beat)
		}
		if string(written) != example {
			t.Errorf("this build writes\n%s\nthe document says\n%s", written, example)
		}
	}
}
