package api

import (
	"github.com/gin-gonic/gin"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/http/auth"
	"github.com/scoreboard/scoreboard/server/http/docs"
	"github.com/scoreboard/scoreboard/server/http/pages"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

const rootPath = "/"

// frontPage is the route GET /, which names the routes to begin with. It needs no
// token, because it contains no data.
func (h *handlers) frontPage() route {
	links := []wire.Link{
		{Path: docsPath, Description: "The documentation: how to start, build a client and operate."},
		{Path: docsPath + "/" + docs.Reference, Description: "The reference of this API, with examples."},
		{Path: openAPIPath, Description: "The reference of this API, as an OpenAPI document."},
	}
	if h.boards != nil {
		links = append(links, wire.Link{Path: "/v1/boards", Description: "The boards; needs a token."})
	}
	if h.tops != nil {
		links = append(links, wire.Link{Path: pathTop, Description: "The top of the board global; needs a token " +
			"unless anonymous reads are on."})
	}
	if h.listing != nil && h.tops != nil && h.listing.Lists(scoreboard.GlobalBoard) {
		links = append(links, wire.Link{
			Path:        "/b/" + string(scoreboard.GlobalBoard),
			Description: "The board global as a page, live; other boards of the setting web.boards likewise.",
		})
	}
	page := pages.NewFrontPage(wire.FrontPage{
		Name: "scoreboard",
		Description: "A real-time leaderboard that counts every event exactly once. This is its API; metrics and " +
			"health checks are on the operations address (the setting ops.addr).",
		Links: links,
	})
	return route{
		method: "GET", path: rootPath, query: anyParameters, scope: noToken, rate: byAddress, audit: unaudited,
		data: showsNothing,
		handle: func(c *gin.Context, _ *auth.Claims) error {
			page.ServeHTTP(c.Writer, c.Request)
			return nil
		},
	}
}
