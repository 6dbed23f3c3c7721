// Package edge handles what comes before the handlers: TLS with certificates that are
// reloaded when their files change, and the client's address and country behind
// trusted proxies.
//
// Promise: if a certificate cannot be read, the previous one stays in use; an address
// or a country is accepted only from a trusted proxy; a connection ends with the
// validity of the client's certificate.
// Owner: package server runs Certificates. On failure it logs and tries again.
package edge
