// Package dialect serves the APIs of four other specifications, so that a client of
// one of them changes only its base URL:
//
//	highscore  best scores per month, proven by an action token, in an envelope
//	delta      increments by a user or a server, with an optional attestation
//	module     increments of configured actions, answered with the top 10
//	plain      a user's best score
//
// A dialect translates. It decodes a request, calls the operations of [api.Call],
// which are those behind the native handlers, and encodes the result. Validation,
// limits, receipts, streams, metrics and the audit trail are the native ones.
//
// To add a dialect: a file with its routes (see plain.go, the smallest), a name in
// package config with its default base and board, a row in New, its formats of streams
// if it has any (stream_plain.go), its document in server/http/api/openapi, and a client in
// the tests that is written from the specification alone. Its errors are native ones
// with other numbers or another envelope (errors.go).
package dialect
