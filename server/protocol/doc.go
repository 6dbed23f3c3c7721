// Package protocol holds the wire formats: the JSON bodies and frames of /v1, shared
// by the API and the client, the texts that are signed, and the events on the
// transport (docs/events.md). It knows no component; no store imports it.
//
// Fields may be added, and are never renamed. Times are RFC 3339 in UTC, ids strings,
// scores integers.
package protocol
