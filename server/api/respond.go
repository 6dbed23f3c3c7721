package api

import (
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/scoreboard/scoreboard/server/protocol"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// statuses maps codes to HTTP.
var statuses = map[scoreboard.Code]int{
	scoreboard.CodeInvalidRequest:       http.StatusBadRequest,
	scoreboard.CodeUnauthorized:         http.StatusUnauthorized,
	scoreboard.CodeInvalidSignature:     http.StatusUnauthorized,
	scoreboard.CodeForbidden:            http.StatusForbidden,
	scoreboard.CodeNotFound:             http.StatusNotFound,
	scoreboard.CodeMethodNotAllowed:     http.StatusMethodNotAllowed,
	scoreboard.CodeEventConflict:        http.StatusConflict,
	scoreboard.CodeBoardClosed:          http.StatusConflict,
	scoreboard.CodeTokenUsed:            http.StatusConflict,
	scoreboard.CodeConflict:             http.StatusConflict,
	scoreboard.CodeGone:                 http.StatusGone,
	scoreboard.CodePayloadTooLarge:      http.StatusRequestEntityTooLarge,
	scoreboard.CodeUnsupportedMediaType: http.StatusUnsupportedMediaType,
	scoreboard.CodeDeltaOutOfRange:      http.StatusUnprocessableEntity,
	scoreboard.CodeScoreOutOfRange:      http.StatusUnprocessableEntity,
	scoreboard.CodeRuleViolated:         http.StatusUnprocessableEntity,
	scoreboard.CodeRateLimited:          http.StatusTooManyRequests,
	scoreboard.CodeOverloaded:           http.StatusServiceUnavailable,
	scoreboard.CodeUnavailable:          http.StatusServiceUnavailable,
	scoreboard.CodeInternal:             http.StatusInternalServerError,
}

// fail answers with the error shape. What is nobody's to see is logged here
// and called internal.
func (a *API) fail(c *gin.Context, err error) {
	var e *scoreboard.Error
	if !errors.As(err, &e) {
		e = &scoreboard.Error{Code: scoreboard.CodeInternal, Message: "something went wrong here", Err: err}
	}
	status := statuses[e.Code]
	if status >= http.StatusInternalServerError {
		a.Log.Error("request failed", "path", c.FullPath(), "status", status, "request_id", c.GetString(keyRequestID),
			"trace", c.GetString(keyTrace), "err", err)
	}
	if e.RetryAfter > 0 || status == http.StatusServiceUnavailable || status == http.StatusTooManyRequests {
		seconds := int(math.Ceil(max(e.RetryAfter, time.Second).Seconds()))
		c.Writer.Header().Set("Retry-After", strconv.Itoa(seconds))
	}
	if status == http.StatusUnauthorized {
		c.Writer.Header().Set("WWW-Authenticate", "Bearer")
	}
	respond(c, status, protocol.Error{
		ErrorCode: string(e.Code), Message: e.Message, Field: e.Field,
		EventID: c.GetString(keyEventID), RequestID: c.GetString(keyRequestID),
	})
}

// respond writes v as JSON.
func respond(c *gin.Context, status int, v any) {
	body, err := json.Marshal(v)
	if err != nil { // our own types always marshal
		panic(err)
	}
	c.Data(status, "application/json", body)
}
