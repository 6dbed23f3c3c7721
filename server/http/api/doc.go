// Package api is the HTTP API: one route table, and handlers that decode,
// validate, call and encode.
//
// Promise: every error response has one shape, changes nothing and costs little;
// every response carries X-Request-Id and traceparent.
package api
