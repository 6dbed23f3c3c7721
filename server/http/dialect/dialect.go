package dialect

import (
	"embed"

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
