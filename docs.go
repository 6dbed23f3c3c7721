// Package scoreboard holds the documentation of this repository, which the daemon serves
// at /docs (package server/http/docs).
package scoreboard

import "embed"

// Docs has README.md, the pages of docs/, the index of the decisions and the pictures, by their
// paths in the repository. The decisions themselves and the acceptance runs are not part of it.
//
//go:embed README.md docs/*.md docs/runbook/*.md docs/decisions/README.md docs/screens/demo.svg docs/screens/player.svg docs/screens/board-dark.png docs/screens/scale.svg
var Docs embed.FS
