package design

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"path"
	"strings"
)

// kinds are the media types, by extension.
var kinds = map[string]string{
	".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml",
	".LICENSE": "text/plain; charset=utf-8", ".sha256": "text/plain; charset=utf-8",
}

// file is one file, compressed once.
type file struct {
	kind         string
	body, zipped []byte
	etag         string
	cache        string // Cache-Control
}

// Files are the files of a site.
type Files struct {
	files  map[string]*file  // by name, with the hash
	hashed map[string]string // names with the hash, by those without
}

// NewFiles returns no files.
func NewFiles() *Files { return &Files{files: make(map[string]*file), hashed: make(map[string]string)} }

// Add adds a file of parts. It panics if the name's extension has no media type.
func (f *Files) Add(name string, parts ...[]byte) {
	extension := path.Ext(name)
	kind := kinds[extension]
	if kind == "" {
		panic("no media type for " + name)
	}
	body := bytes.Join(parts, nil)
	sum := sha256.Sum256(body)
	hash := hex.EncodeToString(sum[:8])
	var zipped bytes.Buffer
	w, _ := gzip.NewWriterLevel(&zipped, gzip.BestCompression) // the level is valid
	_, _ = w.Write(body)                                       // a buffer returns no error
	_ = w.Close()
	f.hashed[name] = strings.TrimSuffix(name, extension) + "." + hash + extension
	f.files[f.hashed[name]] = &file{
		kind: kind, body: body, zipped: zipped.Bytes(), etag: fmt.Sprintf(`"%s"`, hash),
		cache: "public, max-age=31536000, immutable",
	}
}

// Fix serves an added file under its name without the hash, too, for pages of others that
// name it. Caches keep it for five minutes.
func (f *Files) Fix(name string) {
	fixed := *f.files[f.hashed[name]]
	fixed.cache = "public, max-age=300"
	f.files[name] = &fixed
}

// Name returns the name of an added file with its hash; "" for a file that was not added.
func (f *Files) Name(name string) string { return f.hashed[name] }

// Serve answers with a file. It returns false, and has written nothing, if there is none of
// that name.
func (f *Files) Serve(w http.ResponseWriter, r *http.Request, name string) bool {
	a := f.files[name]
	if a == nil {
		return false
	}
	h := w.Header()
	h.Set("Content-Type", a.kind)
	h.Set("Cache-Control", a.cache)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Add("Vary", "Accept-Encoding")
	body, etag := a.body, a.etag
	if acceptsGzip(r) {
		h.Set("Content-Encoding", "gzip")
		body, etag = a.zipped, strings.TrimSuffix(etag, `"`)+`-gzip"`
	}
	h.Set("Etag", etag)
	if r.Header.Get("If-None-Match") == etag {
		h.Del("Content-Encoding")
		w.WriteHeader(http.StatusNotModified)
		return true
	}
	w.WriteHeader(http.StatusOK)
	if r.Method != http.MethodHead {
		_, _ = w.Write(body) // fails only for a client that has gone
	}
	return true
}

// acceptsGzip reports whether Accept-Encoding names gzip, with a weight that is not 0.
func acceptsGzip(r *http.Request) bool {
	for part := range strings.SplitSeq(strings.Join(r.Header.Values("Accept-Encoding"), ","), ",") {
		name, weight, _ := strings.Cut(part, ";")
		weight = strings.ReplaceAll(weight, " ", "")
		if strings.EqualFold(strings.TrimSpace(name), "gzip") {
			return weight == "" || strings.Trim(strings.TrimPrefix(weight, "q="), "0.") != ""
		}
	}
	return false
}
