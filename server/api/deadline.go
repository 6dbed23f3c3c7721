package api

import (
	"net/http"
	"time"

	"github.com/gin-gonic/gin"
)

// WriteTime is how long an answer may take, from its request's last header to
// its last byte: longer than any long poll is held. It is the write timeout of
// the port; who reads too slowly is cut off then.
const WriteTime = time.Minute

// unhurry takes the deadline off an answer that may be long in the making: an
// operator's, or a stream.
func unhurry(c *gin.Context) { writeBy(c, time.Time{}) }

// hurry begins the deadline anew, for what is written next.
func hurry(c *gin.Context) { writeBy(c, time.Now().Add(WriteTime)) }

func writeBy(c *gin.Context, at time.Time) {
	_ = http.NewResponseController(c.Writer).SetWriteDeadline(at) // a closed connection says so at the write
}
