package client_test

import (
	"net/http"
	"testing"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/client/wire"
)

// A message that says what the code does is not followed by the code.
func TestErrorTextHasNoEcho(t *testing.T) {
	t.Parallel()
	for want, e := range map[string]client.Error{
		"read the top: the ranking is unavailable": {Code: wire.CodeUnavailable, Message: "the ranking is unavailable"},
		"read the top: no such board (not_found)":  {Code: wire.CodeNotFound, Message: "no such board"},
	} {
		e.Op, e.Status = "read the top", http.StatusServiceUnavailable
		if got := e.Error(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
