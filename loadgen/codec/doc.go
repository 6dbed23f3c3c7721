// Package codec writes the requests of a load and parses their responses.
//
// Requests are the same bytes that package client would send, which a test
// compares, at a fraction of its cost: the generator shares the machine with the
// server that it measures. Responses are parsed by hand for the same reason.
package codec
