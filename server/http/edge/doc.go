// Package edge handles what comes before the handlers: TLS with certificates that are
// reloaded when their files change, and the client's address and country behind
// trusted proxies. CountryFile looks up the country of an address in a MaxMind file.
//
// Promise: if a certificate or the file of countries cannot be read, the previous one stays
// in use; an address
// or a country is accepted only from a trusted proxy; a connection ends with the
// validity of the client's certificate.
// Owner: package server runs Certificates and CountryFile. On failure it logs and tries again.
package edge
