// Package web renders the pages of boards, for players: the board itself, the page for
// iframes, and the picture for links. Rows are in the HTML, so that a page is complete
// without scripts; a script keeps it current.
//
// The scripts are built from sdk/typescript (npm run web) and committed, so that the
// daemon builds without Node. Nothing is loaded from other hosts.
package web

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"html/template"
	"net/http"
	"path"
	"strings"

	"github.com/scoreboard/scoreboard/internal/design"
)

//go:embed *.tmpl
var templates embed.FS

//go:embed assets
var assets embed.FS

// Element is the name of the script that other pages include for <score-board>. It is the
// only asset whose name has no hash, because those pages name it.
const Element = "score-board.js"

// The other assets, by the names that their hashes are added to.
const (
	styleSheet  = "board.css"
	pageScript  = "board.js"
	filmScript  = "film.js"
	chartScript = "chart.js"
)

// asset is a file that pages load.
type asset struct {
	kind         string
	body, zipped []byte
	etag         string
	cache        string // Cache-Control
}

// Site is the pages and their assets.
type Site struct {
	pages  *template.Template
	assets map[string]*asset // by name, with the hash
	hashed map[string]string // names with the hash, by those without
}

// New returns the site. It panics if an embedded file is missing or malformed.
func New() *Site {
	s := &Site{assets: make(map[string]*asset), hashed: make(map[string]string)}
	s.pages = template.Must(template.New("").Funcs(template.FuncMap{
		"asset": func(name string) string { return s.hashed[name] },
		"count": count, "initial": initial, "hue": hue, "palette": func() design.Palette { return design.Dark },
	}).ParseFS(templates, "*.tmpl"))
	s.add(styleSheet, "text/css; charset=utf-8", []byte(design.CSS()), file("rows.css"), file(styleSheet))
	s.add("icon.svg", "image/svg+xml", file("icon.svg"))
	s.add(pageScript, "text/javascript; charset=utf-8", file(pageScript))
	s.add(chartScript, "text/javascript; charset=utf-8", file(chartScript))
	s.add(filmScript, "text/javascript; charset=utf-8", file(filmScript))
	s.add(Element, "text/javascript; charset=utf-8", file(Element))
	element := *s.assets[s.hashed[Element]]
	element.cache = "public, max-age=300"
	s.assets[Element] = &element
	return s
}

func file(name string) []byte {
	b, err := assets.ReadFile("assets/" + name)
	if err != nil {
		panic(err)
	}
	return b
}

// add adds an asset under a name with its hash.
func (s *Site) add(name, kind string, parts ...[]byte) {
	body := bytes.Join(parts, nil)
	sum := sha256.Sum256(body)
	hash := hex.EncodeToString(sum[:8])
	var zipped bytes.Buffer
	w, _ := gzip.NewWriterLevel(&zipped, gzip.BestCompression) // the level is valid
	_, _ = w.Write(body)                                       // a buffer returns no error
	_ = w.Close()
	extension := path.Ext(name)
	s.hashed[name] = strings.TrimSuffix(name, extension) + "." + hash + extension
	s.assets[s.hashed[name]] = &asset{
		kind: kind, body: body, zipped: zipped.Bytes(), etag: fmt.Sprintf(`"%s"`, hash),
		cache: "public, max-age=31536000, immutable",
	}
}

// ServeAsset answers with an asset. It returns false, and has written nothing, if there is
// none of that name. Assets contain no data, so pages of any origin may load them.
func (s *Site) ServeAsset(w http.ResponseWriter, r *http.Request, name string) bool {
	a := s.assets[name]
	if a == nil {
		return false
	}
	h := w.Header()
	h.Set("Content-Type", a.kind)
	h.Set("Cache-Control", a.cache)
	h.Set("Access-Control-Allow-Origin", "*")
	h.Set("Cross-Origin-Resource-Policy", "cross-origin")
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
	_, _ = w.Write(body) // fails only for a client that has gone
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
