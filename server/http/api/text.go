package api

import (
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/gin-gonic/gin"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// maxParameter bounds a parameter of a path or a query, in characters. The token of a
// dialect's stream may be a bearer token, which package auth bounds.
const (
	maxParameter      = 1024
	maxTokenParameter = 4096
	tokenParameter    = "token"
)

// checkText rejects a request with text that the store could not keep, or that could
// not be shown: parameters of the path and the query, and the header that the ledger
// and the audit trail keep. Package protocol checks the text in bodies. Both run before
// anything is changed, so that no change is left without its audit entry.
func (r route) checkText(c *gin.Context) error {
	for _, p := range c.Params {
		if err := checkParameter(p.Key, p.Value, maxParameter); err != nil {
			return err
		}
	}
	longestToken := maxParameter
	if r.stream != nil && r.dialect != nil {
		longestToken = maxTokenParameter
	}
	if err := r.query.checkQuery(c.Request.URL.RawQuery, longestToken); err != nil {
		return err
	}
	if agent := c.Request.UserAgent(); !scoreboard.IsText(agent) {
		return scoreboard.Invalid("User-Agent", "User-Agent must be UTF-8 without control characters")
	}
	return nil
}

// parameters are the names of the query parameters that a route accepts.
type parameters []string

var (
	// noParameters is for routes without a query.
	noParameters = parameters{}
	// anyParameters is for pages, which ignore what they do not know: links to them
	// gain parameters on the way.
	anyParameters = parameters{"*"}
)

// checkQuery rejects parameters that the route does not accept, and repeated ones: a
// misspelled one would otherwise be as if absent, and of two values one would be
// ignored. An empty parameter is as if absent; handlers read parameters with
// gin.Context.Query, which does not tell the two apart.
func (known parameters) checkQuery(raw string, longestToken int) error {
	if raw == "" {
		return nil
	}
	var seen uint64 // by the index of the parameter
	for part := range strings.SplitSeq(raw, "&") {
		if part == "" {
			continue
		}
		name, value, _ := strings.Cut(part, "=")
		name, nameErr := url.QueryUnescape(name)
		value, valueErr := url.QueryUnescape(value)
		if nameErr != nil || valueErr != nil || strings.Contains(part, ";") { // net/url drops such parameters
			return scoreboard.Invalid("", "malformed query: percent-encode %%, & and ; in parameters")
		}
		if len(name) > maxParameter || !scoreboard.IsText(name) {
			return scoreboard.Invalid("", "parameter names must be UTF-8 without control characters")
		}
		longest := maxParameter
		if name == tokenParameter {
			longest = longestToken
		}
		if err := checkParameter(name, value, longest); err != nil {
			return err
		}
		if slices.Equal(known, anyParameters) {
			continue
		}
		i := slices.Index(known, name)
		switch {
		case i < 0:
			return scoreboard.Invalid(truncate(name, 64), "unknown parameter %.64q", name)
		case seen&(1<<i) != 0:
			return scoreboard.Invalid(name, "duplicate parameter %q", name)
		}
		seen |= 1 << i
	}
	return nil
}

func checkParameter(name, value string, longest int) error {
	if !scoreboard.IsText(value) {
		return scoreboard.Invalid(name, "%s must be UTF-8 without control characters", name)
	}
	if utf8.RuneCountInString(value) > longest {
		return scoreboard.Invalid(name, "%s must be at most %d characters", name, longest)
	}
	return nil
}
