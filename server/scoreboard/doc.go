// Package scoreboard holds the nouns that every station of the server shares:
// boards, users, events, increments, receipts, standings and the error codes.
//
// It knows the standard library only. Whatever two stations must agree on
// (what an event id is, which standing is better, what a payload hashes to)
// is decided here once.
package scoreboard
