package ws

import (
	"encoding/binary"
	"unicode/utf8"

	"github.com/gorilla/websocket"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/realtime/internal/socket"
)

const (
	opContinuation = 0x0
	opText         = 0x1
	opBinary       = 0x2
	opClose        = 0x8
	opPing         = 0x9
	opPong         = 0xa

	finBit  = 0x80
	rsvBits = 0x70
	maskBit = 0x80

	maxControl = 125 // bytes of a control frame's payload
)

// appendFrame appends a whole, unmasked frame.
func appendFrame(b []byte, op byte, payload []byte) []byte {
	b = append(b, finBit|op)
	switch n := len(payload); {
	case n <= 125:
		b = append(b, byte(n))
	case n < 1<<16:
		b = append(b, 126)
		b = binary.BigEndian.AppendUint16(b, uint16(n))
	default:
		b = append(b, 127)
		b = binary.BigEndian.AppendUint64(b, uint64(n))
	}
	return append(b, payload...)
}

// closeFrame is the frame that ends a connection.
func closeFrame(code int, reason string) []byte {
	payload := websocket.FormatCloseMessage(code, reason[:min(len(reason), maxControl-2)])
	return appendFrame(nil, opClose, payload)
}

var (
	pingFrame = appendFrame(nil, opPing, nil)
	slowFrame = closeFrame(wire.CloseSlowConsumer, socket.SlowConsumer)
)

// violation is a breach of the protocol that ends the connection.
type violation struct {
	code   int
	reason string
}

var (
	badFrame = &violation{websocket.CloseProtocolError, "malformed frame"}
	tooBig   = &violation{websocket.CloseMessageTooBig, "message too big"}
	notText  = &violation{websocket.CloseUnsupportedData, "text messages only"}
	notUTF8  = &violation{websocket.CloseInvalidFramePayloadData, "invalid UTF-8"}
)

// parser splits a client's bytes, which may arrive in any pieces, into messages.
type parser struct {
	limit int    // bytes of a message
	rest  []byte // the beginning of an incomplete frame
	text  []byte // the fragments of an incomplete message
	open  bool   // a message is incomplete
	parts uint8  // fragments of it
}

// maxParts bounds the fragments of a message, which may be empty: a message would never end.
const maxParts = 64

// feed parses the next bytes and calls on with each complete message: text, ping,
// pong or close. It stops when on returns false. It overwrites data.
func (p *parser) feed(data []byte, on func(op byte, payload []byte) bool) *violation {
	if len(p.rest) > 0 {
		data = append(p.rest, data...)
		p.rest = nil
	}
	for len(data) > 0 {
		f, n, v := p.frame(data)
		if v != nil {
			return v
		}
		if n == 0 {
			p.rest = append([]byte(nil), data...)
			return nil
		}
		data = data[n:]
		op, payload := f.op, f.payload
		switch {
		case op >= opClose:
			if op == opClose && !validClose(payload) {
				return badFrame
			}
		case !f.fin:
			if p.parts++; p.parts > maxParts {
				return tooBig
			}
			p.open, p.text = true, append(p.text, payload...)
			continue
		default:
			if p.open {
				op, payload = opText, append(p.text, payload...)
				p.open, p.text, p.parts = false, nil, 0
			}
			if !utf8.Valid(payload) {
				return notUTF8
			}
		}
		if !on(op, payload) {
			return nil
		}
	}
	return nil
}

type wireFrame struct {
	op      byte
	fin     bool
	payload []byte
}

// frame parses the first frame of data, which it unmasks in place. n is its length,
// or 0 while it is incomplete.
func (p *parser) frame(data []byte) (f wireFrame, n int, v *violation) {
	if len(data) < 2 {
		return f, 0, nil
	}
	f.op, f.fin = data[0]&0xf, data[0]&finBit != 0
	length, head := uint64(data[1]&^maskBit), 2
	control := f.op >= opClose
	switch {
	case data[0]&rsvBits != 0, data[1]&maskBit == 0, f.op > opPong, f.op > opBinary && !control,
		control && (!f.fin || length > maxControl),
		f.op == opContinuation && !p.open, (f.op == opText || f.op == opBinary) && p.open:
		return f, 0, badFrame
	case f.op == opBinary:
		return f, 0, notText
	}
	switch length {
	case 126:
		if len(data) < 4 {
			return f, 0, nil
		}
		length, head = uint64(binary.BigEndian.Uint16(data[2:])), 4
	case 127:
		if len(data) < 10 {
			return f, 0, nil
		}
		length, head = binary.BigEndian.Uint64(data[2:]), 10
	}
	if !control && length > uint64(p.limit-len(p.text)) {
		return f, 0, tooBig
	}
	end := head + 4 + int(length)
	if len(data) < end {
		return f, 0, nil
	}
	mask := data[head : head+4]
	f.payload = data[head+4 : end : end]
	for i := range f.payload {
		f.payload[i] ^= mask[i&3]
	}
	return f, end, nil
}

// validClose reports whether payload is valid in a close frame.
func validClose(payload []byte) bool {
	switch {
	case len(payload) == 0:
		return true
	case len(payload) == 1 || !utf8.Valid(payload[2:]):
		return false
	}
	switch code := binary.BigEndian.Uint16(payload); {
	case code >= 3000 && code < 5000:
		return true
	case code == 1004 || code == 1005 || code == 1006:
		return false
	default:
		return code >= 1000 && code <= 1014
	}
}
