package edge

import (
	"fmt"
	"net/http"
	"net/netip"
	"strings"
)

// maxHops bounds how many addresses of X-Forwarded-For are looked at.
const maxHops = 32

// Proxies are the networks of the proxies before us, whose word on the client's
// address and country is taken.
type Proxies []netip.Prefix

// ParseProxies reads addresses and networks, such as 10.0.0.0/8.
func ParseProxies(texts []string) (Proxies, error) {
	var p Proxies
	for _, text := range texts {
		if a, err := netip.ParseAddr(text); err == nil {
			p = append(p, netip.PrefixFrom(a.Unmap(), a.Unmap().BitLen()))
			continue
		}
		network, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, fmt.Errorf("%q is neither an address nor a network such as 10.0.0.0/8", text)
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

// Wrap puts the client's address in the place of the peer's, where the peer is
// a proxy that we trust. The header that said names, "" for none, is a proxy's
// word, too: from anybody else it is taken off, and where it stands twice
// nobody can tell which one is the proxy's.
func (p Proxies) Wrap(next http.Handler, said func() string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		trusted := false
		if peer, err := netip.ParseAddrPort(r.RemoteAddr); err == nil && len(p) > 0 {
			at := peer.Addr().Unmap()
			trusted = p.trust(at)
			if client := p.client(at, r.Header.Values("X-Forwarded-For")); client != at {
				r.RemoteAddr = netip.AddrPortFrom(client, 0).String()
			}
		}
		if name := said(); name != "" && (!trusted || len(r.Header.Values(name)) > 1) {
			r.Header.Del(name)
		}
		next.ServeHTTP(w, r)
	})
}

// client walks from the peer to the left: each proxy that we trust says who
// stood before it. What further left stands is whatever the client wrote.
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
				return at // whoever wrote this, nothing behind it can be told
			}
			at = next.Unmap()
		}
	}
	return at
}
