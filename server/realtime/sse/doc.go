// Package sse serves realtime connections as server-sent events.
//
// Over HTTP/1.1 the socket is taken from net/http: a handler that stays holds
// 29 KB for an idle client, the socket alone 7 KB. Over HTTP/2, where streams
// share a connection, the handler stays.
package sse
