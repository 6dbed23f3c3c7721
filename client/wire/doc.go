// Package wire holds what the client and the server of /v1 share: the JSON bodies and
// frames, the texts that are signed, and the codes of errors. It imports no package of
// the server.
//
// Fields may be added, and are never renamed. Times are RFC 3339 in UTC, ids strings,
// scores integers.
package wire
