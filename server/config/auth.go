package config

import "errors"

// checkAuth refuses what would let more in than anybody meant.
func (c *Config) checkAuth() error {
	switch {
	case c.AuthJWKSURL != "" && c.AuthJWTSecret != "":
		return errors.New("knobs auth.jwks_url and auth.jwt_secret exclude each other: beside public keys a shared secret forges tokens")
	case c.AuthJWKSURL != "" && c.AuthDevIssuer:
		return errors.New("knobs auth.jwks_url and auth.dev_issuer exclude each other: the identity provider issues the tokens")
	case c.AuthJWKSURL != "" && c.AuthMasterKey == "" && c.Has(RoleRead):
		return errors.New("knob auth.master_key must be set, to the same on all nodes that serve reads: the cursors of pages are signed with it")
	case (c.TLSCert == "") != (c.TLSKey == ""):
		return errors.New("knobs tls.cert and tls.key go together")
	case c.TLSClientCA != "" && c.TLSCert == "":
		return errors.New("knob tls.client_ca wants tls.cert")
	case (c.TLSClientCA == "") != (len(c.TLSClientNames) == 0):
		return errors.New("knobs tls.client_ca and tls.client_names go together: who vouches, and for whom")
	case c.AuthIssuer == "" || c.AuthAudience == "":
		return errors.New("knobs auth.issuer and auth.audience must not be empty: tokens that were issued by or for others would pass")
	case c.AuthMaxLife < 0:
		return errors.New("knob auth.max_token_life must not be below 0")
	}
	return nil
}
