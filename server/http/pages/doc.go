// Package pages renders the pages of boards, for players: the board itself, the page for
// iframes, and the picture for links. Rows are in the HTML, so that a page is complete
// without scripts; a script keeps it current.
//
// The scripts are built from sdk/typescript (npm run web) and committed, so that the
// daemon builds without Node. Nothing is loaded from other hosts.
//
// FrontPage serves GET /: what a server is and where to look, as a page for people and as
// JSON for programs.
package pages
