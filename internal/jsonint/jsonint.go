// Package jsonint reads whole numbers in every form that JSON has for them.
package jsonint

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
)

// MaxLength bounds the text of a number that is read as a whole number.
const MaxLength = 32

// Parse parses a JSON number of at most MaxLength characters: 5, 5.0, 50e-1 and 5e0
// are the same. whole reports whether it is one without a fraction, fits whether it has at
// most 64 bits. An exponent is never expanded, so that 1e999999999 costs nothing.
func Parse(text []byte) (n int64, whole, fits bool) {
	if len(text) > MaxLength || !json.Valid(text) {
		return 0, false, false
	}
	mantissa, exponent, _ := strings.Cut(strings.ToLower(string(text)), "e")
	mantissa, negative := strings.CutPrefix(mantissa, "-")
	before, after, _ := strings.Cut(mantissa, ".")
	significant := strings.TrimLeft(before+after, "0")
	point := int64(len(significant) - len(after)) // of the digits that precede it
	significant = strings.TrimRight(significant, "0")
	if significant == "" {
		return 0, true, true
	}
	if exponent != "" {
		shift, err := strconv.ParseInt(exponent, 10, 32)
		if err != nil { // beyond 32 bits: almost 0, or huge
			return 0, shift > 0, false
		}
		point += shift
	}
	const maxDigits = 19 // of 64 bits
	digits := int64(len(significant))
	if point < digits {
		return 0, false, false
	}
	if point > maxDigits {
		return 0, true, false
	}
	significant += strings.Repeat("0", int(point-digits))
	if negative {
		significant = "-" + significant
	}
	n, err := strconv.ParseInt(significant, 10, 64)
	return n, true, err == nil
}

// IsPart reports whether c may be part of a number.
func IsPart(c byte) bool { return '0' <= c && c <= '9' || strings.IndexByte("+-.eE", c) >= 0 }

// Plain returns a JSON text with whole numbers written as plain integers, which is
// how encoding/json requires them for an integer: 5 for 5.0 and 5e0.
func Plain(text []byte) []byte {
	if !bytes.ContainsAny(text, ".eE") {
		return text
	}
	out := make([]byte, 0, len(text))
	for i := 0; i < len(text); {
		start := i
		switch c := text[i]; {
		case c == '"':
			for i++; i < len(text) && text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
			i = min(i+1, len(text))
		case c == '-' || '0' <= c && c <= '9':
			for i < len(text) && IsPart(text[i]) {
				i++
			}
			if n, whole, fits := Parse(text[start:i]); whole && fits {
				out = strconv.AppendInt(out, n, 10)
				continue
			}
		default:
			i++
		}
		out = append(out, text[start:i]...)
	}
	return out
}
