package design

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
)

// A file is immutable under the name with its hash, and short-lived under a fixed one; it is
// compressed for those who accept that, with a tag of its own.
func TestServe(t *testing.T) {
	t.Parallel()
	f := NewFiles()
	f.Add("page.js", []byte("one;"), []byte("two;"))
	f.Fix("page.js")
	name := f.Name("page.js")
	if !regexp.MustCompile(`^page\.[0-9a-f]{16}\.js$`).MatchString(name) {
		t.Fatalf("got the name %q", name)
	}
	for _, c := range []struct{ name, encoding, want, cache string }{
		{name, "", "", "immutable"},
		{name, "gzip", "gzip", "immutable"},
		{name, "br, gzip;q=0.5", "gzip", "immutable"},
		{name, "gzip;q=0", "", "immutable"},
		{name, "gzip;q=0.0", "", "immutable"},
		{name, "br", "", "immutable"},
		{"page.js", "", "", "max-age=300"},
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/assets/"+c.name, nil)
		r.Header.Set("Accept-Encoding", c.encoding)
		w := httptest.NewRecorder()
		if !f.Serve(w, r, c.name) || w.Code != http.StatusOK || w.Header().Get("Content-Encoding") != c.want ||
			w.Header().Get("Vary") != "Accept-Encoding" ||
			!strings.Contains(w.Header().Get("Cache-Control"), c.cache) ||
			strings.Contains(w.Header().Get("Cache-Control"), "immutable") != (c.cache == "immutable") {
			t.Errorf("%s for %q: got %d, %v", c.name, c.encoding, w.Code, w.Header())
		}
		if got := text(t, w); got != "one;two;" {
			t.Errorf("%s for %q: got %q", c.name, c.encoding, got)
		}
		r.Header.Set("If-None-Match", w.Header().Get("Etag"))
		again := httptest.NewRecorder()
		if f.Serve(again, r, c.name); again.Code != http.StatusNotModified || again.Body.Len() > 0 {
			t.Errorf("%s for %q: got %d with its own tag, want 304", c.name, c.encoding, again.Code)
		}
	}
	w := httptest.NewRecorder()
	if f.Serve(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil), "other.js") ||
		f.Name("x") != "" {
		t.Error("a file that was not added is served")
	}
}

func text(t *testing.T, w *httptest.ResponseRecorder) string {
	t.Helper()
	if w.Header().Get("Content-Encoding") == "" {
		return w.Body.String()
	}
	z, err := gzip.NewReader(bytes.NewReader(w.Body.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}
