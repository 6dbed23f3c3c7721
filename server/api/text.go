package api

import (
	"net/url"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// maxParameter bounds a parameter of a path or a query, in bytes.
const maxParameter = 1024

// checkText rejects a request with text that the store could not keep, or that could
// not be shown: parameters of the path and the query, and the header that the ledger
// and the audit trail keep. Package protocol checks the text in bodies. Both run before
// anything is changed, so that no change is left without its audit entry.
func checkText(c *gin.Context) error {
	for _, p := range c.Params {
		if err := checkParameter(p.Key, p.Value); err != nil {
			return err
		}
	}
	if err := checkQuery(c.Request.URL.RawQuery); err != nil {
		return err
	}
	if agent := c.Request.UserAgent(); !scoreboard.IsText(agent) {
		return scoreboard.Invalid("User-Agent", "User-Agent must be UTF-8 without control characters")
	}
	return nil
}

func checkQuery(raw string) error {
	if isPlain(raw) {
		return nil
	}
	query, err := url.ParseQuery(raw)
	if err != nil { // net/url drops such parameters
		return scoreboard.Invalid("", "malformed query: percent-encode %%, & and ; in parameters")
	}
	for name, values := range query {
		if len(name) > maxParameter || !scoreboard.IsText(name) {
			return scoreboard.Invalid("", "parameter names must be UTF-8 without control characters")
		}
		for _, value := range values {
			if err := checkParameter(name, value); err != nil {
				return err
			}
		}
	}
	return nil
}

// isPlain reports whether a query needs no decoding to be known as valid.
func isPlain(raw string) bool {
	if len(raw) > maxParameter || strings.ContainsAny(raw, "%;") {
		return false
	}
	for i := range len(raw) {
		if raw[i] < ' ' || raw[i] > '~' {
			return false
		}
	}
	return true
}

func checkParameter(name, value string) error {
	if len(value) > maxParameter {
		return scoreboard.Invalid(name, "%s must be at most %d bytes", name, maxParameter)
	}
	if !scoreboard.IsText(value) {
		return scoreboard.Invalid(name, "%s must be UTF-8 without control characters", name)
	}
	return nil
}
