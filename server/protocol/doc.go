// Package protocol decodes the requests of /v1, converts the domain to the shapes of
// package client/wire, and holds the formats that only servers read: the events on the
// transport (docs/events.md), the feeds and the notices between nodes. It knows no
// component; no store imports it.
package protocol
