package config

import (
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// TLS is the encryption of the API's port, and client certificates on it.
type TLS struct {
	Cert        string
	Key         string
	ClientCA    string
	ClientNames []string
}

func (t *TLS) settings() []setting {
	return []setting{
		{
			"tls.cert", "PEM certificate file of the API, reloaded when it changes; plain HTTP if empty", "", fixed,
			&t.Cert,
		},
		{"tls.key", "PEM key file of the certificate", "", fixed, &t.Key},
		{"tls.client_ca", "PEM file of the CA that issues the client certificates of servers", "", fixed, &t.ClientCA},
		{
			"tls.client_names",
			"exact names of client certificates that may write for any user, like a token with score:update",
			"", fixed, &t.ClientNames,
		},
	}
}

func (t *TLS) check(p *problems) {
	if (t.Cert == "") != (t.Key == "") {
		p.add("tls.cert", "and tls.key must be set together")
	}
	if t.ClientCA != "" && t.Cert == "" {
		p.add("tls.client_ca", "requires tls.cert")
	}
	if (t.ClientCA == "") != (len(t.ClientNames) == 0) {
		p.add("tls.client_ca", "and tls.client_names must be set together")
	}
}

// maxMasterKeys is how many master keys a process accepts: two while one replaces the other.
const maxMasterKeys = 2

// Whether writes must be signed.
const (
	SignatureRequired = "required"
	SignatureOptional = "optional"
)

// Auth is how tokens, signatures and attestations are verified.
type Auth struct {
	JWTSecret      string
	JWKSURL        string
	JWKSNetworks   []netip.Prefix
	Issuer         string
	Audience       string
	ClientIDs      []string
	ScopeClaims    []string
	UserClaim      string
	MaxTokenTTL    time.Duration
	AttestationURL string
	MasterKeys     []string // the first signs and encrypts, both are accepted
	Signature      string
	DefaultKey     string
	DefaultSecret  string
	DevIssuer      bool
}

func (a *Auth) settings() []setting {
	return []setting{
		{
			"auth.jwt_secret",
			"HS256 secret of bearer tokens, which \"scoreboardd token\" issues; cannot be combined with auth.jwks_url",
			"", secret, &a.JWTSecret,
		},
		{
			"auth.jwks_url", "key set (JWKS) of the identity provider, for RS256, ES256 or EdDSA bearer tokens",
			"", live, &a.JWKSURL,
		},
		{"auth.issuer", "required iss claim of bearer tokens", "scoreboard-dev", live, &a.Issuer},
		{
			"auth.audience", "required aud claim of bearer tokens, except those of auth.client_ids", "scoreboard", live,
			&a.Audience,
		},
		{
			"auth.client_ids", "clients whose bearer tokens are accepted without aud, by the claim client_id, else azp",
			"", live, &a.ClientIDs,
		},
		{
			"auth.scope_claims", "claims of bearer tokens that hold scopes, as words of a string or as a list",
			"scope,scp", live, &a.ScopeClaims,
		},
		{
			"auth.user_claim", "claim of bearer tokens that names the user; email requires email_verified", "sub", live,
			&a.UserClaim,
		},
		{
			"auth.max_token_ttl", "maximum exp − iat of a bearer token; 0 disables the limit", "24h", live,
			&a.MaxTokenTTL,
		},
		{
			"auth.attestation_jwks_url",
			"key set (JWKS) of the servers that attest increments; if empty, attestations are rejected",
			"", fixed, &a.AttestationURL,
		},
		{
			"auth.jwks_networks",
			"networks (CIDR) from which key sets may be read besides public addresses, such as 10.0.0.0/8; " +
				"if empty, public addresses only",
			"", fixed, &a.JWKSNetworks,
		},
		{
			"auth.master_key",
			"32 bytes in hex that encrypt the secrets of signing keys and webhooks, and sign page cursors and action " +
				"tokens; two keys, separated by a comma, while one replaces the other: the first encrypts and signs, " +
				"both are accepted",
			"", secret, &a.MasterKeys,
		},
		{
			"auth.signature", "whether writes must be signed: required or optional", SignatureRequired, live,
			&a.Signature,
		},
		{
			"auth.default_key",
			"id of the signing key of increments whose field signature names none; if empty, such signatures " +
				"are rejected",
			"", live, &a.DefaultKey,
		},
		{
			"auth.default_key_secret",
			"secret of auth.default_key, with which the role api creates the key unless it exists", "", secret,
			&a.DefaultSecret,
		},
		{"auth.dev_issuer", "serve POST /v1/admin/tokens, for development only", "false", fixed, &a.DevIssuer},
	}
}

// ownClaims are claims that hold no scopes: registered ones, and those whose value users
// choose themselves with many providers.
var ownClaims = []string{
	"iss", "sub", "aud", "exp", "nbf", "iat", "jti", "name", "given_name", "family_name", "middle_name", "nickname",
	"preferred_username", "username", "profile", "picture", "website", "email", "user_metadata",
}

// sharedClaims do not name one user.
var sharedClaims = []string{
	"", "iss", "aud", "exp", "nbf", "iat", "jti", "azp", "client_id", "scope", "scp", "name", "nickname",
	"email_verified",
}

// check rejects combinations that would accept tokens nobody meant to accept.
func (a *Auth) check(p *problems) {
	if a.JWKSURL != "" && a.JWTSecret != "" {
		p.add("auth.jwks_url", "cannot be combined with auth.jwt_secret: anyone with the shared secret could "+
			"forge tokens")
	}
	if a.JWKSURL != "" && a.DevIssuer {
		p.add("auth.dev_issuer", "cannot be combined with auth.jwks_url: the identity provider issues the tokens")
	}
	for name, value := range map[string]string{"auth.issuer": a.Issuer, "auth.audience": a.Audience} {
		if value == "" {
			p.add(name, "must not be empty: tokens of other issuers or for other audiences would be accepted")
		}
	}
	if len(a.MasterKeys) > maxMasterKeys {
		p.add("auth.master_key", "must be one key, or two during a rotation, not %d", len(a.MasterKeys))
	} else if len(a.MasterKeys) == maxMasterKeys && strings.EqualFold(a.MasterKeys[0], a.MasterKeys[1]) {
		p.add("auth.master_key", "must be two different keys during a rotation")
	}
	if a.MaxTokenTTL < 0 {
		p.add("auth.max_token_ttl", "must be 0 or greater, not %s", a.MaxTokenTTL)
	}
	for _, claim := range a.ScopeClaims {
		if slices.Contains(ownClaims, claim) {
			p.add("auth.scope_claims", "must not list %s, which does not hold scopes", claim)
		}
	}
	if slices.Contains(sharedClaims, a.UserClaim) {
		p.add("auth.user_claim", "must be a claim that names one user, not %q", a.UserClaim)
	}
	if a.DefaultKey != "" {
		if _, err := scoreboard.ParseUserID(a.DefaultKey); err != nil { // the same alphabet and length
			p.add("auth.default_key", "must be the id of a signing key, not %q", a.DefaultKey)
		}
	}
	if a.DefaultSecret != "" && a.DefaultKey == "" {
		p.add("auth.default_key_secret", "requires auth.default_key")
	}
	p.oneOf("auth.signature", a.Signature, SignatureRequired, SignatureOptional)
}
