package client_test

import (
	"io"
	"net/http"
	"strings"
)

// answer is a server with a constant response, such as a proxy's error page.
type answer struct {
	status int
	body   string
}

func (a answer) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{
		Status: http.StatusText(a.status), StatusCode: a.status, Request: r,
		Header: http.Header{"Content-Type": {"text/html"}}, Body: io.NopCloser(strings.NewReader(a.body)),
	}, nil
}
