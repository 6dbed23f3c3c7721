package api

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"strconv"

	"github.com/gin-gonic/gin"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// maxBody bounds a body that is not a batch.
const maxBody = 4 << 10

// readBody reads a JSON body of at most limit bytes.
func readBody(c *gin.Context, limit int64) ([]byte, error) {
	if t := c.GetHeader("Content-Type"); t != "" && t != "application/json" {
		if media, _, err := mime.ParseMediaType(t); err != nil || media != "application/json" {
			return nil, scoreboard.Errorf(scoreboard.CodeUnsupportedMediaType, "the body must be application/json")
		}
	}
	tooLarge := scoreboard.Errorf(scoreboard.CodePayloadTooLarge, "the body must be at most %d bytes", limit)
	n := c.Request.ContentLength
	if n > limit {
		return nil, tooLarge
	}
	if n > 0 {
		body := make([]byte, n)
		if _, err := io.ReadFull(c.Request.Body, body); err != nil {
			return nil, scoreboard.Invalid("", "the body ended early")
		}
		return body, nil
	}
	body, err := io.ReadAll(http.MaxBytesReader(c.Writer, c.Request.Body, limit))
	var over *http.MaxBytesError
	if errors.As(err, &over) {
		return nil, tooLarge
	}
	if err != nil {
		return nil, scoreboard.Invalid("", "the body could not be read")
	}
	return body, nil
}

// queryInt reads an integer of the query within bounds.
func queryInt(c *gin.Context, name string, absent, least, most int) (int, error) {
	text, given := c.GetQuery(name)
	if !given {
		return absent, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < least || n > most {
		return 0, scoreboard.Invalid(name, "%s must be an integer from %d to %d", name, least, most)
	}
	return n, nil
}

// queryBoard reads the board of the query, global when there is none.
func queryBoard(c *gin.Context) (scoreboard.BoardID, error) {
	text, given := c.GetQuery("board")
	if !given {
		return scoreboard.GlobalBoard, nil
	}
	return scoreboard.ParseBoardID(text)
}

// pathID reads the id of a path that names one flag or one void.
func pathID(c *gin.Context, of string) (int64, error) {
	id, err := strconv.ParseInt(c.Param("id"), 10, 64)
	if err != nil || id < 1 {
		return 0, scoreboard.Invalid("id", "a %s's id is a number", of)
	}
	return id, nil
}
