// Package protocol holds the JSON that the API and the client share: one
// struct for each body and frame of /v1, and the error body.
//
// Field names and meanings are a promise to every client; a field is added,
// never renamed. Times are RFC 3339 in UTC, ids strings, scores integers.
package protocol
