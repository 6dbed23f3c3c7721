// Package api is the HTTP API: one route table (routes.go), and handlers that decode,
// validate, call and encode. The handlers of a subject are a type, which has what they need
// and nothing else (handlers.go makes them). API is what all requests pass: identification,
// authentication, limits, errors, metrics.
//
// Promise: every error response has one shape, changes nothing and costs little;
// every response carries X-Request-Id and traceparent.
package api
