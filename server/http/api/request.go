package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/scoreboard/scoreboard/internal/jsonint"

	"github.com/gin-gonic/gin"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/protocol"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// maxBody bounds a body that is not a batch.
const maxBody = 4 << 10

// readBody reads a JSON body of at most limit bytes. A body needs a Content-Type;
// without a body none is needed.
func readBody(c *gin.Context, limit int64) ([]byte, error) {
	body, err := readWhole(c, limit)
	body, marked := bytes.CutPrefix(body, byteOrderMark)
	if marked {
		c.Set(keyMarked, true)
	}
	return body, err
}

// byteOrderMark begins texts of some editors and libraries; it is no part of the JSON
// (RFC 8259, 8.1).
var byteOrderMark = []byte("\ufeff")

func readWhole(c *gin.Context, limit int64) ([]byte, error) {
	wrongType := scoreboard.Errorf(wire.CodeUnsupportedMediaType, "the body must be application/json")
	t := c.GetHeader("Content-Type")
	if t != "" && t != "application/json" {
		if media, _, err := mime.ParseMediaType(t); err != nil || media != "application/json" {
			return nil, wrongType
		}
	}
	if encoding := c.Request.Header.Values("Content-Encoding"); c.Request.ContentLength != 0 && len(encoding) > 0 &&
		(len(encoding) > 1 || !strings.EqualFold(encoding[0], "identity")) {
		return nil, scoreboard.Errorf(wire.CodeUnsupportedMediaType, "the body must have no Content-Encoding")
	}
	tooLarge := scoreboard.Errorf(wire.CodePayloadTooLarge, "the body must be at most %d bytes", limit)
	n := c.Request.ContentLength
	switch {
	case n > 0 && t == "":
		return nil, wrongType
	case n > limit:
		return nil, tooLarge
	case n > 0:
		body := make([]byte, n)
		if _, err := io.ReadFull(c.Request.Body, body); err != nil {
			return nil, scoreboard.Invalid("", "the body is shorter than its Content-Length")
		}
		return body, nil
	}
	body, err := io.ReadAll(http.MaxBytesReader(c.Writer, c.Request.Body, limit))
	var over *http.MaxBytesError
	switch {
	case errors.As(err, &over):
		return nil, tooLarge
	case err != nil:
		return nil, scoreboard.Invalid("", "the body could not be read")
	case len(body) > 0 && t == "":
		return nil, wrongType
	}
	return body, nil
}

// decode reads a small body into v: known fields, each at most once.
func decode(c *gin.Context, v any) error {
	body, err := readBody(c, maxBody)
	if err != nil {
		return err
	}
	return decodeObject(c, body, v)
}

// decodeNothing reads the body of a change without fields: none, or an empty object.
func decodeNothing(c *gin.Context) error {
	body, err := readBody(c, maxBody)
	if err != nil || len(body) == 0 {
		return err
	}
	return decodeObject(c, body, &struct{}{})
}

func decodeObject(c *gin.Context, body []byte, v any) error { return decodeOpaque(c, body, v, "") }

// decodeOpaque reads a body of which fields of a name may be any JSON ("" for none).
func decodeOpaque(c *gin.Context, body []byte, v any, opaque string) error {
	if err := protocol.CheckObject(body, opaque); err != nil {
		return err
	}
	plain, err := plainTimes(jsonint.Plain(body), v)
	if err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(plain))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return scoreboard.Invalid("", "the body does not match the expected JSON")
	}
	c.Set(keyBody, body)
	return nil
}

// plainTimes returns a body with its times in UTC, as scoreboard.ParseTime reads them;
// encoding/json accepts others. v points to a struct; anything else has no times.
func plainTimes(body []byte, v any) ([]byte, error) {
	fields := reflect.Indirect(reflect.ValueOf(v))
	if fields.Kind() != reflect.Struct {
		return body, nil
	}
	var members map[string]json.RawMessage
	for i := range fields.NumField() {
		field := fields.Type().Field(i)
		if field.Type != reflect.TypeFor[time.Time]() && field.Type != reflect.TypeFor[*time.Time]() {
			continue
		}
		if members == nil {
			if err := json.Unmarshal(body, &members); err != nil {
				return nil, err
			}
		}
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		value, given := members[name]
		if !given {
			continue
		}
		var text string
		err := json.Unmarshal(value, &text)
		var at time.Time
		if err == nil {
			at, err = scoreboard.ParseTime(text)
		}
		if err != nil {
			return nil, scoreboard.Invalid(name, "%s must be an RFC 3339 time in the years 1 to 9999 of UTC", name)
		}
		members[name] = encode(at)
	}
	if members == nil {
		return body, nil
	}
	return encode(members), nil
}

// duration parses a Go duration of a body; absent is returned for "".
func duration(field, text string, absent, longest time.Duration) (time.Duration, error) {
	if text == "" {
		return absent, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 || d > longest {
		return 0, scoreboard.Invalid(field, "%s must be a duration of at most %s, such as 15m", field, longest)
	}
	return d, nil
}

// queryInt parses an integer of the query; absent is returned without one.
func queryInt(c *gin.Context, name string, absent, lowest, highest int) (int, error) {
	text := c.Query(name)
	if text == "" {
		return absent, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < lowest || n > highest {
		return 0, scoreboard.Invalid(name, "%s must be an integer from %d to %d", name, lowest, highest)
	}
	return n, nil
}

// queryFlag parses a parameter that is 0, the default, or 1.
func queryFlag(c *gin.Context, name string) (bool, error) {
	switch c.Query(name) {
	case "", "0":
		return false, nil
	case "1":
		return true, nil
	}
	return false, scoreboard.Invalid(name, "%s must be 0 or 1", name)
}

// queryBoard parses the board of the query, global without one.
func queryBoard(c *gin.Context) (scoreboard.BoardID, error) {
	text := c.Query("board")
	if text == "" {
		return scoreboard.GlobalBoard, nil
	}
	return scoreboard.ParseBoardID(text)
}

// queryVersion parses min_version, 0 without one.
func queryVersion(c *gin.Context) (int64, error) {
	text := c.Query("min_version")
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 || n > maxVersion {
		return 0, scoreboard.Invalid("min_version", "min_version must be an integer of at least 1")
	}
	return n, nil
}

// queryTime parses an RFC 3339 time of the query, the zero time without one.
func queryTime(c *gin.Context, name string) (time.Time, error) {
	text := c.Query(name)
	if text == "" {
		return time.Time{}, nil
	}
	t, err := scoreboard.ParseTime(text)
	if err != nil {
		return t, scoreboard.Invalid(name, "%s must be an RFC 3339 time", name)
	}
	return t, nil
}

// queryID parses a numeric id of the query, 0 without one.
func queryID(c *gin.Context, name string) (int64, error) {
	text := c.Query(name)
	if text == "" {
		return 0, nil
	}
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil || id < 1 {
		return 0, scoreboard.Invalid(name, "invalid %s", name)
	}
	return id, nil
}

// pathID parses the numeric id in the path; noun names what it identifies.
func pathID(c *gin.Context, noun string) (int64, error) {
	id, err := strconv.ParseInt(c.Param("id"), 10, 64)
	if err != nil || id < 1 {
		return 0, scoreboard.Invalid("id", "the id of a %s must be a number", noun)
	}
	return id, nil
}

// address is the client's address without a port.
func address(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}

// truncate returns at most n bytes of s, as valid UTF-8.
func truncate(s string, n int) string { return strings.ToValidUTF8(s[:min(len(s), n)], "") }

// override sets *to if a value is given.
func override[T any](to, given *T) {
	if given != nil {
		*to = *given
	}
}
