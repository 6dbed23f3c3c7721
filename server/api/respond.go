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

// fail answers with the error shape.
func (a *API) fail(c *gin.Context, err error) {
	e := a.public(c, err)
	status := statuses[scoreboard.Code(e.ErrorCode)]
	if status == http.StatusServiceUnavailable || status == http.StatusTooManyRequests {
		c.Writer.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(retryAfter(err).Seconds()))))
	} else {
		c.Writer.Header().Del("Retry-After")
	}
	if status == http.StatusUnauthorized {
		c.Writer.Header().Set("WWW-Authenticate", "Bearer")
	}
	respond(c, status, e)
}

// public is an error as the caller may see it. What is nobody's to see is
// logged here and called internal.
func (a *API) public(c *gin.Context, err error) protocol.Error {
	var e *scoreboard.Error
	if !errors.As(err, &e) {
		e = &scoreboard.Error{Code: scoreboard.CodeInternal, Message: "something went wrong here", Err: err}
	}
	// Who has hung up is no failure of ours, and reads no answer.
	if statuses[e.Code] >= http.StatusInternalServerError && c.Request.Context().Err() == nil {
		a.tell(c, e.Code, err)
	}
	return protocol.Error{
		ErrorCode: string(e.Code), Message: e.Message, Field: e.Field, Reason: string(e.Reason),
		EventID: c.GetString(keyEventID), RequestID: c.GetString(keyRequestID),
		WouldRank: e.WouldRank,
	}
}

// respond writes v as JSON.
func respond(c *gin.Context, status int, v any) {
	body, err := json.Marshal(v)
	if err != nil { // our own types always marshal
		panic(err)
	}
	hurry(c)
	respondJSON(c, status, body)
}

var jsonType = []string{"application/json"}

func respondJSON(c *gin.Context, status int, body []byte) {
	c.Writer.Header()["Content-Type"] = jsonType
	c.Writer.WriteHeader(status)
	_, _ = c.Writer.Write(body) // the client has gone, or it has not
}

// retryAfter is how long a refusal asks to wait, a second at least.
func retryAfter(err error) time.Duration {
	var known *scoreboard.Error
	if errors.As(err, &known) {
		return max(known.RetryAfter, time.Second)
	}
	return time.Second
}
