package protocol

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/gowebpki/jcs"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// ParseMetadata checks the metadata of an increment. It returns an invalid_request.
func ParseMetadata[T ~string | ~[]byte](text T) (scoreboard.Metadata, error) {
	if len(text) == 0 {
		return "", nil
	}
	if len(text) > scoreboard.MaxMetadata {
		return "", scoreboard.Invalid("metadata", "metadata must have at most %d bytes", scoreboard.MaxMetadata)
	}
	form, err := jcs.Transform([]byte(text))
	if err == nil {
		err = checkMetadata([]byte(text))
	}
	switch {
	case err != nil:
		return "", scoreboard.Invalid("metadata", "metadata: %v", err)
	case form[0] != '{':
		return "", scoreboard.Invalid("metadata", "metadata must be an object")
	case len(form) > scoreboard.MaxMetadata:
		return "", scoreboard.Invalid("metadata", "metadata must have at most %d bytes in the form of RFC 8785",
			scoreboard.MaxMetadata)
	}
	return scoreboard.Metadata(form), nil
}

// checkMetadata checks what the form would take: it writes all numbers as doubles, and so changes
// integers that are none.
func checkMetadata(text []byte) error {
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
		if depth > scoreboard.MaxMetadataDepth {
			return errors.New("nested deeper than " + strconv.Itoa(scoreboard.MaxMetadataDepth))
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
