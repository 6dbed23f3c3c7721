package tlsfiles

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// SecurePostgres has one connection to PostgreSQL use TLS, whatever the URL says, to each
// of its hosts.
func (c *Client) SecurePostgres(p *pgconn.Config) {
	p.TLSConfig = c.Config(p.Host)
	type server struct {
		host string
		port uint16
	}
	seen := map[server]bool{{p.Host, p.Port}: true}
	hosts := p.Fallbacks[:0:0]
	for _, f := range p.Fallbacks { // sslmode=prefer has each host twice
		if at := (server{f.Host, f.Port}); !seen[at] {
			seen[at] = true
			next := *f
			next.TLSConfig = c.Config(f.Host)
			hosts = append(hosts, &next)
		}
	}
	p.Fallbacks = hosts
}

// PostgresURL returns a URL, or keyword=value pairs, with which pgx uses the files by
// itself, as they are when it connects.
func PostgresURL(text string, f Files) string {
	if !f.Any() {
		return text
	}
	parameters := [][2]string{
		{"sslmode", "verify-full"}, {"sslrootcert", f.CA}, {"sslcert", f.Cert}, {"sslkey", f.Key},
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme == "" { // pairs, of which the last one counts
		quote := strings.NewReplacer(`\`, `\\`, `'`, `\'`)
		for _, p := range parameters {
			if p[1] != "" {
				text += fmt.Sprintf(" %s='%s'", p[0], quote.Replace(p[1]))
			}
		}
		return text
	}
	query := u.Query()
	for _, p := range parameters {
		if p[1] != "" {
			query.Set(p[0], p[1])
		}
	}
	u.RawQuery = query.Encode()
	return u.String()
}
