package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
)

// ServeNoop is a server that does nothing: it responds to each increment with a
// receipt made from the request, over plain sockets, to use as little CPU time as
// possible. It prints its URL.
func ServeNoop(ctx context.Context, out io.Writer) error {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Fprintln(out, "http://"+l.Addr().String())
	defer context.AfterFunc(ctx, func() { _ = l.Close() })()
	for {
		c, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil {
			return err
		}
		go serveConn(c) // ends with its client or this process
	}
}

func serveConn(c net.Conn) {
	defer func() { _ = c.Close() }()
	in := bufio.NewReaderSize(c, 256<<10)
	var body, out, response []byte
	for {
		var path []byte
		length := 0
		for first := true; ; first = false {
			line, err := in.ReadSlice('\n')
			if err != nil {
				return
			}
			if line = bytes.TrimRight(line, "\r\n"); len(line) == 0 {
				break
			}
			if first {
				path = append(path[:0], bytes.Fields(line)[1]...)
			} else if text, ok := bytes.CutPrefix(line, []byte("Content-Length: ")); ok {
				length, _ = strconv.Atoi(string(text))
			}
		}
		if cap(body) < length {
			body = make([]byte, length)
		}
		body = body[:length]
		if _, err := io.ReadFull(in, body); err != nil {
			return
		}
		status := "200 OK"
		switch {
		case bytes.HasSuffix(path, []byte("/increment")):
			response = receiptOf(response[:0], body)
		case bytes.HasSuffix(path, []byte("/increments")):
			response = receiptsOf(response[:0], body)
		case bytes.HasPrefix(path, []byte("/v1/boards/")):
			response = append(response[:0], `{"board":"global","status":"active"}`...)
		default:
			status = "404 Not Found"
			response = append(response[:0], `{"error_code":"not_found","message":"no such route","request_id":"r"}`...)
		}
		out = append(append(out[:0], "HTTP/1.1 "...), status...)
		out = strconv.AppendInt(
			append(out, "\r\nContent-Type: application/json\r\nContent-Length: "...), int64(len(response)), 10,
		)
		out = append(append(out, "\r\n\r\n"...), response...)
		if _, err := c.Write(out); err != nil {
			return
		}
	}
}

// receiptOf appends a receipt of realistic size.
func receiptOf(b, in []byte) []byte {
	b = append(append(b, `{"user_id":"`...), field(in, `"user_id":"`)...)
	b = append(b, `","board":"global","new_score":123456,"previous_score":123401,"rank":1234,"version":321,`...)
	b = append(append(b, `"processed_event_id":"`...), field(in, `"event_id":"`)...)
	b = append(append(b, `","applied":`...), field(in, `"delta":`)...)
	return append(b, `,"replayed":false,"recorded_at":"2026-11-21T12:00:00.123456Z","status":"done"}`...)
}

func receiptsOf(b, in []byte) []byte {
	b = append(b, `{"results":[`...)
	if !bytes.Contains(in, []byte(`"user_id"`)) { // sbctl asks whether it may write
		return append(b, "]}"...)
	}
	for i, item := range bytes.Split(in, []byte("},{")) {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(receiptOf(append(b, `{"status":"done","receipt":`...), item), '}')
	}
	return append(b, "]}"...)
}

// field is the text after a name, up to the next quote or comma.
func field(in []byte, name string) []byte {
	_, rest, _ := bytes.Cut(in, []byte(name))
	if end := bytes.IndexAny(rest, `",}`); end >= 0 {
		return rest[:end]
	}
	return rest
}
