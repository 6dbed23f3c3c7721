package sources

import (
	"bytes"
	"fmt"
	"net"
	"strconv"
)

// maxReply bounds the reply to a command: its bytes, and what it claims to have.
const maxReply = 4 << 20

var errReply = fmt.Errorf("the reply of Redis is larger than %d MiB", maxReply>>20)

// boundedConn is a connection to a Redis that is not trusted: the client makes room for as many bytes and elements as a
// reply claims to have, before it reads them.
type boundedConn struct {
	net.Conn
	size int    // of the reply so far
	skip int    // bytes of a string that follow
	line []byte // that has not ended
}

// Write sends a command, which the next reply answers.
func (c *boundedConn) Write(b []byte) (int, error) {
	c.size = 0
	return c.Conn.Write(b)
}

func (c *boundedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if c.size += n; c.size > maxReply || !c.accept(b[:n]) {
		return 0, errReply
	}
	return n, err
}

// accept reports whether the lengths in a part of a reply are within the bounds.
func (c *boundedConn) accept(part []byte) bool {
	for len(part) > 0 {
		if c.skip > 0 {
			n := min(c.skip, len(part))
			c.skip, part = c.skip-n, part[n:]
			continue
		}
		text, rest, ended := bytes.Cut(part, []byte("\n"))
		c.line, part = append(c.line, text...), rest
		if !ended {
			return true
		}
		line := bytes.TrimSuffix(c.line, []byte("\r"))
		c.line = c.line[:0]
		if len(line) == 0 || !bytes.ContainsRune([]byte("$=!*~%>|"), rune(line[0])) {
			continue
		}
		n, err := strconv.Atoi(string(line[1:]))
		if err != nil || n > maxReply {
			return false
		}
		switch line[0] {
		case '$', '=', '!':
			if n >= 0 {
				c.skip = n + len("\r\n")
			}
		default:
			if c.size += n; n > 0 && c.size > maxReply {
				return false
			}
		}
	}
	return true
}
