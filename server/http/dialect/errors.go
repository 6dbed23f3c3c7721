package dialect

import (
	"net/http"
	"strings"

	"github.com/scoreboard/scoreboard/client/wire"
)

// listed returns the status of an error as the specifications list them: what is wrong
// with a body is a 400. The error code follows the status.
func listed(status int, e *wire.Error) int {
	switch status {
	case http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity:
		e.ErrorCode = string(wire.CodeInvalidRequest)
		return http.StatusBadRequest
	case http.StatusUnauthorized: // also of signatures
		e.ErrorCode = string(wire.CodeUnauthorized)
	}
	return status
}

// fields are a dialect's names of native fields.
type fields map[string]string

// translate names a field as the dialect does, also where the message begins with it.
func (names fields) translate(e *wire.Error) {
	name, ok := names[e.Field]
	if !ok {
		return
	}
	for _, verb := range []string{" is ", " must "} {
		if rest, begins := strings.CutPrefix(e.Message, e.Field+verb); begins {
			e.Message = name + verb + rest
		}
	}
	e.Field = name
}

// nativeShape answers an error with the native body and a listed status.
func (names fields) nativeShape(status int, e *wire.Error) (int, any) {
	out := *e
	names.translate(&out)
	return listed(status, &out), &out
}
