package edge

import (
	"fmt"
	"net/http"
	"net/netip"
	"strings"
)

// maxHops bounds how many addresses of forwarded requests are evaluated.
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
			if client := p.client(at, hopsOf(r.Header)); client != at {
				r.RemoteAddr = netip.AddrPortFrom(client, 0).String()
			}
		}
		if name := countryHeader(); name != "" && (!trusted || len(r.Header.Values(name)) > 1) {
			r.Header.Del(name)
		}
		next.ServeHTTP(w, r)
	})
}

// hopsOf returns the lists of addresses that proxies were called from: those of
// X-Forwarded-For, or of Forwarded (RFC 7239) where there is none.
func hopsOf(h http.Header) []string {
	if forwarded := h.Values("X-Forwarded-For"); len(forwarded) > 0 {
		return forwarded
	}
	var lists []string
	for _, list := range h.Values("Forwarded") {
		elements := strings.Split(list, ",")
		for i, element := range elements {
			elements[i] = "unknown" // an element without for
			for pair := range strings.SplitSeq(element, ";") {
				if name, value, ok := strings.Cut(strings.TrimSpace(pair), "="); ok && strings.EqualFold(name, "for") {
					elements[i] = strings.Trim(value, `"`)
				}
			}
		}
		lists = append(lists, strings.Join(elements, ","))
	}
	return lists
}

// parseHop parses an address as proxies write it: with or without a port, and an IPv6
// address with or without brackets.
func parseHop(text string) (netip.Addr, error) {
	text = strings.TrimSpace(text)
	if at, err := netip.ParseAddrPort(text); err == nil {
		return at.Addr(), nil
	}
	if inner, ok := strings.CutPrefix(text, "["); ok {
		if inner, ok = strings.CutSuffix(inner, "]"); ok && strings.Contains(inner, ":") {
			text = inner
		}
	}
	return netip.ParseAddr(text)
}

// client evaluates the lists of hopsOf from right to left: each trusted proxy adds the
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
			next, err := parseHop(last)
			if err != nil || next.Zone() != "" {
				return at // malformed: the addresses left of it cannot be trusted
			}
			at = next.Unmap()
		}
	}
	return at
}
