package api

import (
	"encoding/json"
	"errors"
	"log/slog"
	"math"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/protocol"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// statuses maps error codes to HTTP.
var statuses = map[wire.Code]int{
	wire.CodeInvalidRequest:       http.StatusBadRequest,
	wire.CodeUnauthorized:         http.StatusUnauthorized,
	wire.CodeInvalidSignature:     http.StatusUnauthorized,
	wire.CodeForbidden:            http.StatusForbidden,
	wire.CodeNotFound:             http.StatusNotFound,
	wire.CodeMethodNotAllowed:     http.StatusMethodNotAllowed,
	wire.CodeEventConflict:        http.StatusConflict,
	wire.CodeBoardClosed:          http.StatusConflict,
	wire.CodeTokenUsed:            http.StatusConflict,
	wire.CodeAttemptsUsed:         http.StatusConflict,
	wire.CodePeriodEnded:          http.StatusConflict,
	wire.CodeNotJoined:            http.StatusConflict,
	wire.CodeJoinClosed:           http.StatusConflict,
	wire.CodeTournamentFull:       http.StatusConflict,
	wire.CodeConflict:             http.StatusConflict,
	wire.CodeNotSettled:           http.StatusConflict,
	wire.CodeGone:                 http.StatusGone,
	wire.CodePayloadTooLarge:      http.StatusRequestEntityTooLarge,
	wire.CodeUnsupportedMediaType: http.StatusUnsupportedMediaType,
	wire.CodeDeltaOutOfRange:      http.StatusUnprocessableEntity,
	wire.CodeScoreOutOfRange:      http.StatusUnprocessableEntity,
	wire.CodeRuleViolated:         http.StatusUnprocessableEntity,
	wire.CodeRateLimited:          http.StatusTooManyRequests,
	wire.CodeOverloaded:           http.StatusServiceUnavailable,
	wire.CodeUnavailable:          http.StatusServiceUnavailable,
	wire.CodeInternal:             http.StatusInternalServerError,
}

// StatusOf returns the HTTP status of an error code.
func StatusOf(code wire.Code) int { return statuses[code] }

// internalMessage is all that a client learns about an unexpected error.
const internalMessage = "internal error"

// failures answers requests with errors, and logs those of the server.
type failures struct {
	log     *slog.Logger
	now     clock
	errors  errorLog
	claimed map[claimedPath]*Dialect // the paths of dialects
}

// fail answers with an error body.
func (f *failures) fail(c *gin.Context, err error) {
	e := f.public(c, err)
	status := StatusOf(wire.Code(e.ErrorCode))
	if status == http.StatusServiceUnavailable || status == http.StatusTooManyRequests ||
		e.ErrorCode == string(wire.CodeNotSettled) {
		setRetryAfter(c, err)
	} else {
		c.Writer.Header().Del("Retry-After")
	}
	if status == http.StatusUnauthorized {
		c.Writer.Header().Set("WWW-Authenticate", "Bearer")
	}
	f.respondError(c, status, &e)
}

// respondError writes an error in the shape of the API that was called.
func (f *failures) respondError(c *gin.Context, status int, e *wire.Error) {
	if d := f.dialectOf(c); d != nil {
		status, body := d.Error(status, e)
		respond(c, status, body)
		return
	}
	if isPage(c) {
		respondProblem(c, status, e)
		return
	}
	respond(c, status, e)
}

// rejectSuspended answers 503 while the API is suspended. The reason is not logged:
// it was when it began.
func (f *failures) rejectSuspended(c *gin.Context, reason string) {
	c.Writer.Header().Set("Retry-After", "1")
	f.respondError(c, http.StatusServiceUnavailable, &wire.Error{
		ErrorCode: string(wire.CodeUnavailable), Message: reason, RequestID: c.GetString(keyRequestID),
	})
}

// public is an error as the client may see it. Errors without a code are logged
// and become internal.
func (f *failures) public(c *gin.Context, err error) wire.Error {
	var e *scoreboard.Error
	if !errors.As(err, &e) {
		e = &scoreboard.Error{Code: wire.CodeInternal, Message: internalMessage, Err: err}
	}
	// A client that disconnected is not our failure and reads no answer.
	if statuses[e.Code] >= http.StatusInternalServerError && c.Request.Context().Err() == nil {
		f.logThrottled(c, e.Code, err)
	}
	out := protocol.NewError(e)
	out.EventID, out.RequestID = c.GetString(keyEventID), c.GetString(keyRequestID)
	return out
}

// setRetryAfter sends how long a rejected client has to wait, at least a second.
func setRetryAfter(c *gin.Context, err error) {
	wait := time.Second
	var known *scoreboard.Error
	if errors.As(err, &known) {
		wait = max(known.RetryAfter, time.Second)
	}
	c.Writer.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(wait.Seconds()))))
}

// respond writes v as JSON.
func respond(c *gin.Context, status int, v any) {
	body := encode(v)
	extendWriteDeadline(c)
	respondJSON(c, status, body)
}

func encode(v any) []byte {
	body, err := json.Marshal(v)
	if err != nil { // these types always marshal
		panic(err)
	}
	return body
}

var jsonType = []string{"application/json"}

func respondJSON(c *gin.Context, status int, body []byte) {
	c.Writer.Header()["Content-Type"] = jsonType
	c.Writer.WriteHeader(status)
	_, _ = c.Writer.Write(body) // fails only for a client that disconnected
}

// timePtr is nil for the zero time, which JSON then omits.
func timePtr(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// WriteTime bounds a response from the end of its request's headers to its last
// byte; it exceeds every long poll. It is the write timeout of the port, which
// also disconnects slow readers.
const WriteTime = time.Minute

// clearWriteDeadline lifts the deadline of responses that may take long: those
// for operators, and streams.
func clearWriteDeadline(c *gin.Context) { setWriteDeadline(c, time.Time{}) }

// extendWriteDeadline restarts the deadline for what is written next.
func extendWriteDeadline(c *gin.Context) { setWriteDeadline(c, time.Now().Add(WriteTime)) }

func setWriteDeadline(c *gin.Context, at time.Time) {
	// A closed connection fails at the next write.
	_ = http.NewResponseController(c.Writer).SetWriteDeadline(at)
}

// logInterval is the shortest interval between two log lines about errors of one
// kind: an outage rejects thousands of requests a second for one reason.
const logInterval = time.Second

// errorLog throttles the logging of server errors, for each route and code.
type errorLog struct {
	mu     sync.Mutex
	states map[errorKind]*logState
}

type errorKind struct {
	path string
	code wire.Code
}

type logState struct {
	last       time.Time
	suppressed int // since last
}

func newErrorLog() errorLog { return errorLog{states: make(map[errorKind]*logState)} }

// allow reports whether to log an error now, and how many were suppressed since
// the last one that was logged.
func (l *errorLog) allow(kind errorKind, now time.Time) (suppressed int, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.states[kind]
	if s == nil {
		s = &logState{}
		l.states[kind] = s
	}
	if now.Sub(s.last) < logInterval {
		s.suppressed++
		return 0, false
	}
	suppressed, s.last, s.suppressed = s.suppressed, now, 0
	return suppressed, true
}

// logThrottled logs a server error unless one of its kind was logged within
// logInterval.
func (f *failures) logThrottled(c *gin.Context, code wire.Code, err error) {
	kind := errorKind{c.FullPath(), code}
	suppressed, ok := f.errors.allow(kind, f.now())
	if !ok {
		return
	}
	requestLog(f.log, c).Error("request failed", "path", kind.path, "code", code, "err", err,
		"suppressed", suppressed)
}
