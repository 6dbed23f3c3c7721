package tracing

import (
	"encoding/hex"
	"math/rand/v2"

	"go.opentelemetry.io/otel/trace"
)

// traceparentLength is the length of a W3C traceparent of version 00.
const traceparentLength = 55

// Parent is a trace context: a W3C traceparent that was parsed. The zero value is none.
type Parent struct{ context trace.SpanContext }

// ParseParent parses a W3C traceparent of version 00. ok is false for any other text.
func ParseParent(text string) (p Parent, ok bool) {
	if len(text) != traceparentLength || text[:3] != "00-" || text[35] != '-' || text[52] != '-' {
		return p, false
	}
	id, err := trace.TraceIDFromHex(text[3:35])
	if err != nil {
		return p, false
	}
	span, err := trace.SpanIDFromHex(text[36:52])
	if err != nil {
		return p, false
	}
	high, low := fromHex(text[53]), fromHex(text[54])
	if high < 0 || low < 0 {
		return p, false
	}
	// Bits beyond the sampled flag are not ours to interpret or to pass on.
	flags := trace.TraceFlags(low) & trace.FlagsSampled
	p.context = trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: id, SpanID: span, TraceFlags: flags, Remote: true,
	})
	return p, true
}

// fromHex returns the value of a lower-case hexadecimal digit, -1 for another byte.
func fromHex(b byte) int {
	switch {
	case '0' <= b && b <= '9':
		return int(b - '0')
	case 'a' <= b && b <= 'f':
		return int(b-'a') + 10
	}
	return -1
}

// Sampled reports whether the trace is sampled.
func (p Parent) Sampled() bool { return p.context.IsSampled() }

// Sampled returns a traceparent that came with data if it is well-formed and sampled, else
// "": other programs pass on any text.
func Sampled(traceparent string) string {
	if traceparent == "" {
		return ""
	}
	if p, ok := ParseParent(traceparent); !ok || !p.Sampled() {
		return ""
	}
	return traceparent
}

// Unsampled returns the traceparent of a span that is not recorded: in the trace of p, or
// in a new one if p is none.
func (p Parent) Unsampled() string {
	id := p.context.TraceID()
	if !id.IsValid() {
		randomize(id[:])
	}
	var span trace.SpanID
	randomize(span[:])
	return format(id, span, 0)
}

// randomize makes an id, which need not be secret.
func randomize(id []byte) {
	for i := 0; i < len(id); i += 8 {
		v := rand.Uint64() | 1 // never all zeros
		for j := range 8 {
			id[i+j] = byte(v >> (8 * j))
		}
	}
}

func format(id trace.TraceID, span trace.SpanID, flags trace.TraceFlags) string {
	var b [traceparentLength]byte
	copy(b[:], "00-")
	hex.Encode(b[3:35], id[:])
	b[35] = '-'
	hex.Encode(b[36:52], span[:])
	b[52] = '-'
	hex.Encode(b[53:], []byte{byte(flags & trace.FlagsSampled)})
	return string(b[:])
}

// TraceID returns the trace's id in a traceparent that this package has written.
func TraceID(traceparent string) string {
	if len(traceparent) != traceparentLength {
		return ""
	}
	return traceparent[3:35]
}
