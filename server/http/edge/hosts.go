package edge

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/scoreboard/scoreboard/internal/publicnet"
)

// Domains that no name of the internet is in.
var localDomains = []string{".local", ".localhost", ".internal", ".svc"}

// KnownHosts returns a middleware that rejects requests under other names than those of this
// machine's networks and some more: a page of the internet could have its own name resolve to
// an address of ours, and read what a browser may reach here.
func KnownHosts(more []string) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !isKnownHost(r.Host, more) {
				http.Error(w, "metrics and profiles are not served under this host name; list it in ops.hosts",
					http.StatusMisdirectedRequest)
				return
			}
			next.ServeHTTP(w, r)
		})
	}
}

// LocalClients returns a handler that rejects requests from other machines: profiles show what a
// process does, and cost its CPU, and no network policy tells them from metrics.
func LocalClients(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		at, err := netip.ParseAddrPort(r.RemoteAddr)
		if err != nil || !at.Addr().Unmap().IsLoopback() {
			http.Error(w, "profiles are served to this machine only: connect through ssh -L or kubectl port-forward",
				http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func isKnownHost(host string, more []string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
	if _, err := netip.ParseAddr(host); err == nil || publicnet.IsLoopback(host) || !strings.Contains(host, ".") {
		return true
	}
	return slices.ContainsFunc(localDomains, func(domain string) bool { return strings.HasSuffix(host, domain) }) ||
		slices.ContainsFunc(more, func(name string) bool { return strings.EqualFold(name, host) })
}
