package pages

import (
	"embed"
	"html/template"
	"net/http"
	"time"

	"github.com/scoreboard/scoreboard/internal/design"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

//go:embed *.tmpl
var templates embed.FS

//go:embed assets
var embedded embed.FS

// Element is the name of the script that other pages include for <score-board>. It is the
// only asset whose name has no hash, because those pages name it.
const Element = "score-board.js"

// The other assets, by the names that their hashes are added to.
const (
	styleSheet     = "board.css"
	pageScript     = "board.js"
	timelineScript = "timeline.js"
	chartScript    = "chart.js"
)

// Site is the pages and their assets.
type Site struct {
	pages  *template.Template
	assets *design.Files
}

// New returns the site. It panics if an embedded file is missing or malformed.
func New() *Site {
	s := &Site{assets: design.NewFiles()}
	s.pages = template.Must(template.New("").Funcs(template.FuncMap{
		"asset": s.assets.Name,
		"count": count, "initial": initial, "hue": hue,
		"hueOf":  func(board scoreboard.BoardID) int { return hue(scoreboard.UserID(board)) },
		"ending": ending, "exact": func(at time.Time) string { return at.UTC().Format(exactTime) },
	}).ParseFS(templates, "*.tmpl"))
	s.assets.Add(styleSheet, []byte(design.CSS()), file("rows.css"), file(styleSheet))
	s.assets.Add("icon.svg", file("icon.svg"))
	s.assets.Add(pageScript, file(pageScript))
	s.assets.Add(chartScript, file(chartScript))
	s.assets.Add(timelineScript, file(timelineScript))
	s.assets.Add(Element, file(Element))
	s.assets.Fix(Element)
	return s
}

func file(name string) []byte {
	b, err := embedded.ReadFile("assets/" + name)
	if err != nil {
		panic(err)
	}
	return b
}

// ServeAsset answers with an asset. It returns false, and has written nothing, if there is
// none of that name. Assets contain no data, so pages of any origin may load them.
func (s *Site) ServeAsset(w http.ResponseWriter, r *http.Request, name string) bool {
	w.Header().Set("Access-Control-Allow-Origin", "*")
	w.Header().Set("Cross-Origin-Resource-Policy", "cross-origin")
	return s.assets.Serve(w, r, name)
}
