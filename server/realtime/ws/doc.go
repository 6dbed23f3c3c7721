// Package ws serves realtime connections as WebSockets (RFC 6455).
//
// gorilla/websocket upgrades; then the socket is taken from it, because an idle
// gorilla connection holds a kilobyte and waits deep in its own reader, which
// doubles the stack: together a third of what a connection may cost.
package ws
