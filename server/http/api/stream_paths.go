package api

import (
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/http/auth"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// pathPageStream is the event stream of a board's page. Its path is not below that of the page, so
// that a prefix says which requests are for streams: an Ingress knows no other patterns.
const pathPageStream = "/v1/realtime/pages/:board"

// StreamPaths are the paths of the native streams. What is in front of nodes with split roles sends
// requests for them, and for those of dialects, to the role gateway; dialect.StreamPaths has all.
var StreamPaths = []string{pathRealtime, pathPageStream}

// misroutedRetry is when a client whose stream came to another server may try again: operators do
// not change routes within seconds.
const misroutedRetry = 30 * time.Second

// misrouted is the route of a stream in a process without the role gateway. It tells the operator
// what to do: another route might match the path, and answer about something else.
func misrouted(path string, d *Dialect) route {
	return route{
		method: http.MethodGet, path: path, query: anyParameters, scope: noToken, rate: byAddress, audit: unaudited,
		data: showsNothing, dialect: d,
		handle: func(*gin.Context, *auth.Claims) error {
			return &scoreboard.Error{
				Code: wire.CodeUnavailable,
				Message: "this server does not serve streams: its operator must route this path to servers with the " +
					"role gateway",
				RetryAfter: misroutedRetry,
			}
		},
	}
}
