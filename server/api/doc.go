// Package api is the HTTP surface: one table of routes, and handlers that
// decode, validate, call and encode.
//
// Promise: every refusal has the one error shape, writes nothing and costs
// little; every answer carries X-Request-Id and traceparent.
package api
