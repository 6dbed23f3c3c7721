// Package publicnet makes HTTP clients for addresses that people configure: they connect to
// public addresses, and to the networks that a setting allows. Without the check, an
// address could make the server read from its own network.
package publicnet

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Networks are what may be reached besides public addresses.
type Networks struct {
	Allowed []netip.Prefix
	Setting string // names them in errors
}

// globalUnicast is the part of IPv6 that is routed on the internet.
var globalUnicast = netip.MustParsePrefix("2000::/3")

// nat64 is how an IPv6-only network reaches an IPv4 address, its last four bytes.
var nat64 = netip.MustParsePrefix("64:ff9b::/96")

// notPublic are the networks that netip.Addr has no method for (IANA's registries of
// special-purpose addresses), and the metadata service of a cloud at a public address.
var notPublic = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"),
	netip.MustParsePrefix("100.64.0.0/10"), // carriers, and a cloud's metadata
	netip.MustParsePrefix("168.63.129.16/32"),
	netip.MustParsePrefix("192.0.0.0/24"), // has a cloud's metadata
	netip.MustParsePrefix("192.0.2.0/24"),
	netip.MustParsePrefix("192.88.99.0/24"),
	netip.MustParsePrefix("198.18.0.0/15"),
	netip.MustParsePrefix("198.51.100.0/24"),
	netip.MustParsePrefix("203.0.113.0/24"),
	netip.MustParsePrefix("240.0.0.0/4"),
	netip.MustParsePrefix("2001::/23"), // tunnels that contain an IPv4 address
	netip.MustParsePrefix("2001:db8::/32"),
	netip.MustParsePrefix("2002::/16"), // tunnels that contain an IPv4 address
	netip.MustParsePrefix("3fff::/20"),
}

// Check returns why an address must not be reached; nil if it may be.
func (n Networks) Check(address netip.Addr) error {
	address = address.Unmap()
	contains := func(network netip.Prefix) bool { return network.Contains(address) }
	if public(address) || slices.ContainsFunc(n.Allowed, contains) {
		return nil
	}
	return fmt.Errorf("%s is not a public address, and no network of %s contains it", address, n.Setting)
}

func public(a netip.Addr) bool {
	if nat64.Contains(a) {
		bytes := a.As16()
		return public(netip.AddrFrom4([4]byte(bytes[12:])))
	}
	if !a.IsGlobalUnicast() || a.IsPrivate() || a.Is6() && !globalUnicast.Contains(a) {
		return false
	}
	return !slices.ContainsFunc(notPublic, func(network netip.Prefix) bool { return network.Contains(a) })
}

// IsLoopback reports whether a host, without a port, is this machine: localhost or a loopback
// address.
func IsLoopback(host string) bool {
	a, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && a.IsLoopback()
}

// maxHeaders is the maximum size of the headers of a response: a stranger chooses it.
const maxHeaders = 64 << 10

// Client returns an HTTP client that follows no redirect: one could lead elsewhere. It
// checks the address of every connection when it is dialed: a name can have another address
// than at any earlier check. A proxy of the environment is checked like any other address.
// timeout bounds a request with its response, whose headers are bounded too.
func (n Networks) Client(timeout time.Duration) *http.Client {
	dialer := &net.Dialer{Timeout: timeout, Control: func(_, address string, _ syscall.RawConn) error {
		peer, err := netip.ParseAddrPort(address)
		if err != nil {
			return fmt.Errorf("check an address: %w", err)
		}
		return n.Check(peer.Addr())
	}}
	return &http.Client{
		Timeout: timeout,
		Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment, DialContext: dialer.DialContext, ForceAttemptHTTP2: true,
			DisableKeepAlives:      true, // minutes pass between two requests
			MaxResponseHeaderBytes: maxHeaders,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}
