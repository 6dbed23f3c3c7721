package api

import (
	_ "embed"
	"net/http"

	"github.com/gin-gonic/gin"

	repository "github.com/scoreboard/scoreboard"
	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/http/auth"
	"github.com/scoreboard/scoreboard/server/http/docs"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

const (
	openAPIPath  = "/openapi.json"
	asyncAPIPath = "/asyncapi.json"
	docsPath     = "/docs"
	docsPagePath = docsPath + "/:page"

	dialectDocuments = "/openapi/" // each as NAME.json
)

// openAPI describes every route. It is generated from the operations, the types of
// package protocol and their comments (go test ./server/http/api -run OpenAPIUpToDate
// -update); tests fail if it is outdated or lacks a route.
//
//go:embed openapi.json
var openAPI []byte

// asyncAPI describes the messages of streams and webhooks. It is generated from a table
// of messages and their types (go test ./server/http/api -run AsyncAPI -update).
//
//go:embed asyncapi.json
var asyncAPI []byte

// reference is the page of the native API in the documentation.
var reference = docs.API{Path: openAPIPath, Document: openAPI}

// documentation is the site of all processes without dialects: it is rendered once.
var documentation = docs.New(repository.Docs, reference)

// docsRoutes are the routes of the documentation and of the OpenAPI and AsyncAPI documents.
// They need no token, because none of them contains data.
func (h *handlers) docsRoutes() []route {
	page := func(c *gin.Context, _ *auth.Claims) error {
		name := c.Param("page") // empty for the index
		known, err := h.site.Serve(c.Writer, c.Request, name)
		if err == nil && !known {
			err = scoreboard.Errorf(wire.CodeNotFound, "the documentation has no page %s", name)
		}
		return err
	}
	return []route{
		openRoute(docsPath, page), openRoute(docsPagePath, page), documentRoute(openAPIPath, openAPI),
		documentRoute(asyncAPIPath, asyncAPI),
	}
}

// DocsPaths are the patterns of the paths of the documentation and the documents that it links.
func DocsPaths() []string {
	return []string{docsPath, docsPath + "/", openAPIPath, asyncAPIPath, dialectDocuments}
}

// openRoute is a route that needs no token, because its answers contain no data.
func openRoute(path string, handle handler) route {
	return route{
		method: http.MethodGet, path: path, query: anyParameters, scope: noToken, rate: byAddress, audit: unaudited,
		data: showsNothing, handle: handle,
	}
}

// documentRoute serves an OpenAPI or AsyncAPI document.
func documentRoute(path string, document []byte) route {
	return openRoute(path, func(c *gin.Context, _ *auth.Claims) error {
		c.Header("Cache-Control", "max-age=300")
		c.Header("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
		c.Data(http.StatusOK, "application/json", document)
		return nil
	})
}
