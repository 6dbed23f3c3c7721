package edge

import (
	"fmt"
	"net/http"
	"net/netip"
	"strings"
)

// maxHops bounds how many addresses of X-Forwarded-For are evaluated.
const maxHops = 32

// Proxies are the networks of trusted proxies, which may set the client's address and
// country.
type Proxies []netip.Prefix

// ParseProxies parses addresses and networks, such as 10.0.0.0/8.
func ParseProxies(texts []string) (Proxies, error) {
	var p Proxies
	for _, text := range texts {
		if a, err := netip.ParseAddr(text); err == nil {
			p = append(p, netip.PrefixFrom(a.Unmap(), a.Unmap().BitLen()))
			continue
		}
		network, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, fmt.Errorf("%q must be an address or a network, such as 10.0.0.0/8", text)
		}
		p = append(p, network.Masked())
	}
	return p, nil
}

func (p Proxies) trust(a netip.Addr) bool {
	for _, network := range p {
		if network.Contains(a) {
			return true
		}
	}
	return false
}

// Wrap replaces the peer's address by the client's, if the peer is a trusted proxy.
// countryHeader returns the name of the header with the country, "" for none; it is
// removed unless a trusted proxy has sent it exactly once, because the proxy's value
// could not be distinguished from a client's.
func (p Proxies) Wrap(next http.Handler, countryHeader func() string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		trusted := false
		if peer, err := netip.ParseAddrPort(r.RemoteAddr); err == nil && len(p) > 0 {
			at := peer.Addr().Unmap()
			trusted = p.trust(at)
			if client := p.client(at, r.Header.Values("X-Forwarded-For")); client != at {
				r.RemoteAddr = netip.AddrPortFrom(client, 0).String()
			}
		}
		if name := countryHeader(); name != "" && (!trusted || len(r.Header.Values(name)) > 1) {
			r.Header.Del(name)
		}
		next.ServeHTTP(w, r)
	})
}

// client evaluates X-Forwarded-For from right to left: each trusted proxy adds the
// address it was called from. What is left of those was sent by the client.
func (p Proxies) client(peer netip.Addr, forwarded []string) netip.Addr {
	at := peer
	hops := 0
	for i := len(forwarded) - 1; i >= 0; i-- {
		rest := forwarded[i]
		for rest != "" {
			if hops++; hops > maxHops || !p.trust(at) {
				return at
			}
			var last string
			if j := strings.LastIndexByte(rest, ','); j >= 0 {
				rest, last = rest[:j], rest[j+1:]
			} else {
				rest, last = "", rest
			}
			next, err := netip.ParseAddr(strings.TrimSpace(last))
			if err != nil || next.Zone() != "" {
				return at // malformed: the addresses left of it cannot be trusted
			}
			at = next.Unmap()
		}
	}
	return at
}
