// Package scoreboard holds the documentation of this repository, which the daemon serves
// at /docs (package server/http/docs).
package scoreboard

import "embed"

// Docs has README.md, the pages of docs/ and their pictures, by their paths in the
// repository. The decisions and the acceptance runs are not part of it.
//
//go:embed README.md docs/*.md docs/runbook/*.md docs/screens/watch.svg docs/screens/player.svg docs/screens/board-dark.png
var Docs embed.FS
