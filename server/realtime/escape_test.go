package realtime_test

import (
	"encoding/json"
	"testing"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/realtime"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

func TestErrorFramesAreEscaped(t *testing.T) {
	t.Parallel()
	var f wire.Message
	err := scoreboard.Invalid("x\u2066", "unknown\x1b[2J \u202etype")
	if err := json.Unmarshal(realtime.Native.Error(err, "daily").JSON, &f); err != nil {
		t.Fatal(err)
	}
	const want = `unknown\u001b[2J \u202etype`
	if f.Message != want || f.ErrorCode != string(wire.CodeInvalidRequest) {
		t.Errorf("got %q, %s, want %q", f.Message, f.ErrorCode, want)
	}
}
