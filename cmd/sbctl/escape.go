package main

import (
	"bytes"
	"fmt"
	"io"
	"reflect"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Texts of a server are not trusted: control characters could drive the terminal,
// and direction marks make a line read as another one. Both are shown escaped, as are
// other characters without a glyph.

// escapeLines is scoreboard.Escape for a text of several lines of our own.
func escapeLines(s string) string {
	lines := strings.Split(s, "\n")
	for i := range lines {
		lines[i] = scoreboard.Escape(lines[i])
	}
	return strings.Join(lines, "\n")
}

// escapeArgs escapes what a message is formatted with.
func escapeArgs(args []any) []any {
	safe := make([]any, len(args))
	for i, arg := range args {
		switch arg := arg.(type) {
		case string:
			safe[i] = scoreboard.Escape(arg)
		case error:
			safe[i] = scoreboard.Escape(arg.Error())
		default:
			safe[i] = arg
			if v := reflect.ValueOf(arg); v.Kind() == reflect.String {
				safe[i] = scoreboard.Escape(v.String())
			}
		}
	}
	return safe
}

// printText prints what write writes, escaped line by line.
func printText(w io.Writer, write func(io.Writer) error) error {
	var b bytes.Buffer
	if err := write(&b); err != nil {
		return err
	}
	_, err := io.WriteString(w, escapeLines(b.String()))
	return err
}

// jsonEscaper escapes characters without a glyph in JSON that is written to w, which
// leaves its meaning as it is. encoding/json escapes only some of them.
type jsonEscaper struct {
	w    io.Writer
	rest []byte // the beginning of a character
}

func (e *jsonEscaper) Write(p []byte) (int, error) {
	text := append(e.rest, p...)
	var b bytes.Buffer
	for len(text) > 0 && utf8.FullRune(text) {
		r, size := utf8.DecodeRune(text)
		switch {
		case r < 0x7f || unicode.IsGraphic(r) && (r != utf8.RuneError || size > 1):
			b.Write(text[:size])
		case r > 0xffff:
			r -= 0x10000
			fmt.Fprintf(&b, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
		text = text[size:]
	}
	e.rest = bytes.Clone(text)
	if _, err := e.w.Write(b.Bytes()); err != nil {
		return 0, err
	}
	return len(p), nil
}
