package api_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/scoreboard/scoreboard/client/wire"
)

// A request with two Authorization headers, or with an encoded body, is rejected.
func TestAmbiguousHeaders(t *testing.T) {
	t.Parallel()
	const mediaType = http.StatusUnsupportedMediaType
	r := newRig(t, 1000)
	token := "Bearer " + r.token(r.tokens, "alice", "")
	for name, c := range map[string]struct {
		authorization, encoding []string
		status                  int
		code                    string
	}{
		"one token":         {[]string{token}, nil, http.StatusOK, ""},
		"identity":          {[]string{token}, []string{"Identity"}, http.StatusOK, ""},
		"two tokens":        {[]string{token, token}, nil, http.StatusBadRequest, "invalid_request"},
		"an empty one":      {[]string{"", token}, nil, http.StatusBadRequest, "invalid_request"},
		"gzip":              {[]string{token}, []string{"gzip"}, mediaType, "unsupported_media_type"},
		"identity and gzip": {[]string{token}, []string{"identity", "gzip"}, mediaType, "unsupported_media_type"},
	} {
		req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/scores/increment",
			strings.NewReader(increment("alice", "e1", "k1", "s1")))
		req.Header["Authorization"], req.Header["Content-Encoding"] = c.authorization, c.encoding
		req.Header.Set("Content-Type", "application/json")
		r.limits.updates.left = 100
		w := httptest.NewRecorder()
		r.ServeHTTP(w, req)
		var e wire.Error
		if err := json.Unmarshal(w.Body.Bytes(), &e); err != nil || w.Code != c.status || e.ErrorCode != c.code {
			t.Errorf("%s: got %d %s, %v, want %d %s", name, w.Code, w.Body, err, c.status, c.code)
		}
	}
}
