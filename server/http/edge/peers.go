package edge

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"net"
	"sync"
	"time"
)

// peers are the open connections whose clients presented a certificate. TLS verifies
// it only when a connection starts, and connections are kept for days.
type peers struct {
	mu    sync.Mutex
	conns map[*conn]peer
}

// peer is what a connection's certificate was last verified with.
type peer struct {
	chain  []*x509.Certificate // as presented, the client's own first
	config *tls.Config         // whose authorities have issued it
	until  time.Time           // when the chain to them expires
}

// conn leaves the peers when it is closed, by whatever protocol it serves.
type conn struct {
	net.Conn
	peers *peers
}

func (c *conn) Close() error {
	c.peers.mu.Lock()
	delete(c.peers.conns, c)
	c.peers.mu.Unlock()
	return c.Conn.Close()
}

// listener wraps accepted connections in conns.
type listener struct {
	net.Listener
	peers *peers
}

func (l listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &conn{c, l.peers}, nil
}

// watch returns the settings of one handshake, which add the connection to the peers
// if its client presents a certificate.
func (p *peers) watch(c net.Conn, current *tls.Config) *tls.Config {
	wrapped, ok := c.(*conn)
	if !ok || current.ClientCAs == nil {
		return current
	}
	config := current.Clone()
	config.VerifyConnection = func(s tls.ConnectionState) error {
		if len(s.VerifiedChains) > 0 {
			p.mu.Lock()
			p.conns[wrapped] = peer{s.PeerCertificates, current, expiry(s.VerifiedChains)}
			p.mu.Unlock()
		}
		return nil
	}
	return config
}

// expiry returns when the last of several chains expires.
func expiry(chains [][]*x509.Certificate) (last time.Time) {
	for _, chain := range chains {
		until := chain[0].NotAfter
		for _, c := range chain[1:] {
			if c.NotAfter.Before(until) {
				until = c.NotAfter
			}
		}
		if until.After(last) {
			last = until
		}
	}
	return last
}

// closeInvalid closes the connections whose certificates have expired, or were not
// issued by the current authorities, and returns their number.
func (p *peers) closeInvalid(current *tls.Config, now time.Time) int {
	type verdict struct {
		until time.Time
		valid bool
	}
	verdicts := make(map[[sha256.Size]byte]verdict) // clients open many connections
	var invalid []*conn
	p.mu.Lock()
	for c, of := range p.conns {
		if of.config != current || !now.Before(of.until) {
			sum := fingerprint(of.chain)
			v, known := verdicts[sum]
			if !known {
				v.until, v.valid = verify(of.chain, current, now)
				verdicts[sum] = v
			}
			if !v.valid {
				invalid = append(invalid, c)
				continue
			}
			p.conns[c] = peer{of.chain, current, v.until}
		}
	}
	p.mu.Unlock()
	for _, c := range invalid {
		_ = c.Close() // without the goodbye of TLS, which could block
	}
	return len(invalid)
}

func fingerprint(chain []*x509.Certificate) [sha256.Size]byte {
	h := sha256.New()
	for _, c := range chain {
		h.Write(c.Raw) // of known length: DER
	}
	return [sha256.Size]byte(h.Sum(nil))
}

// verify does what TLS did at the start of the connection.
func verify(chain []*x509.Certificate, config *tls.Config, now time.Time) (until time.Time, valid bool) {
	o := x509.VerifyOptions{
		Roots: config.ClientCAs, Intermediates: x509.NewCertPool(), CurrentTime: now,
		KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	if o.Roots == nil { // the system's authorities otherwise
		return time.Time{}, false
	}
	for _, c := range chain[1:] {
		o.Intermediates.AddCert(c)
	}
	chains, err := chain[0].Verify(o)
	if err != nil {
		return time.Time{}, false
	}
	return expiry(chains), true
}
