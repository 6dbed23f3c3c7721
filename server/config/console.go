package config

import (
	"net/url"
	"strings"
)

// Where the console is served.
const (
	ConsoleOps  = "ops"
	ConsoleMain = "main"
	ConsoleOff  = "off"
)

// Console is the operators' console in the browser.
type Console struct {
	Addr             string
	URL              string
	OIDCIssuer       string
	OIDCClientID     string
	OIDCClientSecret string
	OIDCScopes       []string
	DevSignIn        bool
}

func (c *Console) settings() []setting {
	return []setting{
		{
			"console.addr",
			"where processes with the role api serve the console: ops (at ops.addr), main (at addr) or off",
			ConsoleOps,
			fixed,
			&c.Addr,
		},
		{
			"console.url", "scheme and host at which browsers reach the console, such as https://ops.example.com; if " +
				"empty, any host over TLS, and loopback addresses without",
			"", fixed, &c.URL,
		},
		{
			"console.oidc_issuer",
			"issuer URL of the identity provider that signs people in to the console; its access " +
				"tokens must be those that auth.jwks_url verifies",
			"",
			fixed,
			&c.OIDCIssuer,
		},
		{"console.oidc_client_id", "client id of the console at the identity provider", "", fixed, &c.OIDCClientID},
		{
			"console.oidc_client_secret",
			"client secret of the console at the identity provider; empty for a public client",
			"",
			secret,
			&c.OIDCClientSecret,
		},
		{
			"console.oidc_scopes",
			"scopes that the console requests from the identity provider",
			"openid,score:admin",
			fixed,
			&c.OIDCScopes,
		},
		{
			"console.dev_sign_in",
			"let anyone on this machine sign in to the console with one click, for development only",
			"false",
			fixed,
			&c.DevSignIn,
		},
	}
}

func (c *Config) checkConsole(p *problems) {
	k := &c.Console
	p.oneOf("console.addr", k.Addr, ConsoleOps, ConsoleMain, ConsoleOff)
	checkURL := func(name, text string, path bool) {
		u, err := url.Parse(text)
		switch {
		case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http":
			p.add(name, "must be an http or https URL, not %q", text)
		case u.User != nil || u.RawQuery != "" || u.Fragment != "" || !path && strings.Trim(u.Path, "/") != "":
			p.add(name, "must have no more than a scheme and a host, not %q", text)
		}
	}
	if k.URL != "" {
		checkURL("console.url", k.URL, false)
	}
	if k.DevSignIn && !c.Auth.DevIssuer {
		p.add("console.dev_sign_in", "requires auth.dev_issuer")
	}
	if (k.OIDCIssuer == "") != (k.OIDCClientID == "") {
		p.add("console.oidc_issuer", "and console.oidc_client_id must be set together")
	}
	if k.OIDCIssuer == "" {
		return
	}
	checkURL("console.oidc_issuer", k.OIDCIssuer, true)
	if k.URL == "" {
		p.add("console.oidc_issuer", "requires console.url, for the redirect URI")
	}
	if c.Auth.JWKSURL == "" {
		p.add("console.oidc_issuer", "requires auth.jwks_url: the API rejects the provider's tokens without it")
	}
}
