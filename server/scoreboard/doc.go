// Package scoreboard defines the domain types that all components of the server
// share: boards, users, events, increments, receipts, standings and error codes.
//
// It imports the standard library, golang.org/x/text and the error codes of client/wire. What
// two components must agree on (the format of event ids, the order of standings, the payload
// hash) is defined here.
package scoreboard
