package dialect

import (
	"embed"
	"slices"

	"github.com/scoreboard/scoreboard/server/config"
	"github.com/scoreboard/scoreboard/server/http/api"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// The documents are generated from the operations in openapi_operations_test.go, the
// types of the dialects and their comments (go test ./server/http/dialect -run
// OpenAPIDocuments -update).
//
//go:embed openapi/*.json
var openAPI embed.FS

// documentOf returns the OpenAPI document of a dialect.
func documentOf(name string) []byte {
	document, err := openAPI.ReadFile("openapi/" + name + ".json")
	if err != nil { // a test reads all
		panic(err)
	}
	return document
}

// Options are what dialects need beside an api.Call.
type Options struct {
	Config *config.Dialects
	// Rules returns the action rules in force.
	Rules func() scoreboard.Rules
}

// New returns the dialects that are enabled, for [api.API.Mount].
func New(o Options) []*api.Dialect {
	constructors := map[string]func(o *Options, board string) *api.Dialect{
		config.DialectHighscore: newHighscore,
		config.DialectDelta:     newDelta,
		config.DialectModule:    newModule,
		config.DialectPlain:     newPlain,
	}
	var dialects []*api.Dialect
	for _, name := range config.DialectNames {
		if !o.Config.Has(name) {
			continue
		}
		settings := o.Config.Named(name)
		d := constructors[name](&o, settings.Board)
		d.Name, d.Board = name, scoreboard.BoardID(settings.Board)
		d.Host, d.Base = settings.Mount()
		d.Document = documentOf(name)
		d.SignatureOptional = o.Config.SignatureOptional(name)
		d.UnsignedByRules = settings.Signature == config.SignatureOptional
		d.Open = o.Config.OwnsBoard(name)
		dialects = append(dialects, d)
	}
	return dialects
}

// StreamPaths returns the paths of all streams: the native ones, and those of the enabled dialects
// that have no host of their own. Parameters are named as in the native routes.
func StreamPaths(c *config.Dialects) []string {
	paths := slices.Clone(api.StreamPaths)
	for _, d := range New(Options{Config: c}) {
		for i := range d.Routes {
			if d.Routes[i].Stream != nil && d.Host == "" {
				paths = append(paths, d.Base+d.Routes[i].Path)
			}
		}
	}
	return paths
}
