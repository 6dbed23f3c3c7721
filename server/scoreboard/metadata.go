package scoreboard

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Bounds of the metadata of an increment: bytes, as it is sent and in its form, and how deep its
// objects and arrays are nested.
const (
	MaxMetadata      = 1024
	MaxMetadataDepth = 8
)

// Metadata is what a submission says about itself, such as the character that was played: a JSON
// object in the form of RFC 8785; "" is none. Nothing but its readers knows what it means.
type Metadata string

// CheckMetadata checks what of metadata, which is valid JSON, would be lost: its form writes all numbers as
// doubles, and so changes integers that are none. It returns what is wrong, in words.
func CheckMetadata(text []byte) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	for depth := 0; ; {
		token, err := d.Token()
		switch token := token.(type) {
		case json.Delim:
			if depth--; token == '{' || token == '[' {
				depth += 2
			}
		case json.Number:
			if number := string(token); !isExact(number) {
				return fmt.Errorf("the integer %s is not exact as a number; send it as a string", number)
			}
		case nil:
			if err != nil {
				return nil // the end: the text is valid
			}
		}
		if depth > MaxMetadataDepth {
			return errors.New("nested deeper than " + strconv.Itoa(MaxMetadataDepth))
		}
	}
}

// isExact reports whether a number that is written as an integer keeps its digits as a double.
func isExact(number string) bool {
	if strings.ContainsAny(number, ".eE") {
		return true
	}
	double, err := strconv.ParseFloat(number, 64)
	return err == nil && strconv.FormatFloat(double, 'f', -1, 64) == number
}

// metadataMark begins the metadata in a hash; no length of a board is so large.
const metadataMark = attributesMark - 1

// appendHashed appends the metadata to what is hashed; nothing without any.
func (m Metadata) appendHashed(b []byte) []byte {
	if m == "" {
		return b
	}
	return appendString(binary.BigEndian.AppendUint32(b, metadataMark), string(m))
}

// MetadataOf is to whom a board shows the metadata of standings.
type MetadataOf string

// To whom metadata is shown.
const (
	MetadataNone   MetadataOf = ""       // nobody: the board keeps none
	MetadataSelf   MetadataOf = "self"   // the user, servers and operators
	MetadataPublic MetadataOf = "public" // everyone who sees the user's id on the board
)

// ParseMetadataOf parses the setting of a board, which is none by default.
func ParseMetadataOf(s string) (MetadataOf, error) {
	switch m := MetadataOf(s); {
	case s == "" || s == "none":
		return MetadataNone, nil
	case m == MetadataSelf || m == MetadataPublic:
		return m, nil
	}
	return "", Invalid("metadata", "metadata must be none, self or public")
}

// Described is a standing with metadata.
type Described struct {
	User       UserID
	Score      Score
	Subscore   Score
	RecordedAt time.Time // of the last event
	Metadata   Metadata
}

// KeepsMetadata reports whether standings of the board have metadata.
func (b *Board) KeepsMetadata() bool {
	return b.Metadata != MetadataNone
}

// CheckMetadata returns an invalid_request if an increment has metadata that none of its boards
// keeps.
func (in *Increment) CheckMetadata(boards []*Board) error {
	if in.Metadata == "" || slices.ContainsFunc(boards, (*Board).KeepsMetadata) {
		return nil
	}
	return Invalid("metadata", "no board of the increment keeps metadata")
}

// MetadataAfter returns the metadata of a standing after a submission of which the ledger keeps
// some; moved is whether it changed the score. A best score has that of the submission that made
// it, any other that of the last one.
func (b *Board) MetadataAfter(before, kept Metadata, moved bool) Metadata {
	if b.Mode == ModeBest && !moved {
		return before
	}
	return kept
}
