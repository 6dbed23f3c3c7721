package protocol

import (
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
		err = scoreboard.CheckMetadata([]byte(text))
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
