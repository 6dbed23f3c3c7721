package cluster

import (
	"bytes"
	"fmt"
	"regexp"
)

// Proxies are the ways of a node to the servers of one backend.
type Proxies []*Proxy

// Set replaces the fault of all.
func (all Proxies) Set(f Fault) {
	for _, p := range all {
		p.Set(f)
	}
}

// Reset cuts every open connection with an RST.
func (all Proxies) Reset() {
	for _, p := range all {
		p.Reset()
	}
}

// Close ends all.
func (all Proxies) Close() {
	for _, p := range all {
		p.Close()
	}
}

// address is how a server of Redis or a sentinel tells where another one is: in a list of slots, in a
// redirection, in a message to subscribers, in the answer to a client that asks for the primary, and in
// a list of sentinels.
var address = regexp.MustCompile(`127\.0\.0\.1(?:[: ]|\r\n:|\r\n\$5\r\n|\r\n\$4\r\nport\r\n\$5\r\n)(\d{5})`)

// Rename replaces addresses in what the server says, so that its clients find the other servers through
// proxies, too. All have the host 127.0.0.1 and a port of five digits: an answer keeps its length. One
// that is split between two packets is not renamed, and leads past the proxy.
func (p *Proxy) Rename(names map[string]string) error {
	ports := make(map[string][]byte, len(names))
	for from, to := range names {
		old, new := address.FindStringSubmatch(from), address.FindStringSubmatch(to)
		if old == nil || new == nil {
			return fmt.Errorf("rename %s to %s: want 127.0.0.1 and a port of five digits", from, to)
		}
		ports[old[1]] = []byte(new[1])
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rename = func(chunk []byte) []byte {
		if !bytes.Contains(chunk, []byte("127.0.0.1")) {
			return chunk
		}
		for _, at := range address.FindAllSubmatchIndex(chunk, -1) {
			if port := ports[string(chunk[at[2]:at[3]])]; port != nil {
				copy(chunk[at[2]:at[3]], port)
			}
		}
		return chunk
	}
	return nil
}
