// Package edge is what stands between the network and the handlers: TLS with
// certificates that are read again when their files change, and whose address and
// country a request comes from when proxies stand before us.
//
// Promise: a certificate that cannot be read leaves the one before in force; an
// address or a country is believed only from a proxy that is named.
// Owner: package server runs Certificates. On failure it logs and tries again.
package edge
