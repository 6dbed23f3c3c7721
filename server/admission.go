package server

import (
	"errors"
	"net/url"
	"time"

	"github.com/scoreboard/scoreboard/server/api"
	"github.com/scoreboard/scoreboard/server/auth"
)

// makeTokens makes what verifies bearer tokens: by the key set of an identity
// provider, or by the secret of a development issuer.
func (s *Server) makeTokens() error {
	c := s.config
	policy := auth.Policy{Issuer: c.Auth.Issuer, Audience: c.Auth.Audience, MaxLife: c.Auth.MaxTokenLife}
	if c.Auth.JWKSURL == "" {
		s.tokens = auth.NewTokens(c.Auth.JWTSecret, c.Auth.Issuer, c.Auth.Audience, time.Now)
		s.tokens.Configure(policy)
		return nil
	}
	keys, err := auth.NewKeySet(c.Auth.JWKSURL, s.log, time.Now)
	if err != nil {
		return err
	}
	s.keySet = keys
	s.tokens = auth.NewProviderTokens(keys, policy, time.Now)
	s.add("key set", keys)
	return nil
}

// makeProofs makes what verifies action tokens, and attestations where the key
// set of those who write them is known.
func (s *Server) makeProofs(o *api.Options) (err error) {
	c := s.config
	if o.ActionTokens, err = auth.NewActionTokens(c.Auth.MasterKey); err != nil {
		return err
	}
	if c.Auth.AttestationURL == "" {
		return nil
	}
	keys, err := auth.NewKeySet(c.Auth.AttestationURL, s.log, time.Now)
	if err != nil {
		return err
	}
	o.Attestations = auth.NewAttestations(keys)
	s.add("attestation keys", keys)
	return nil
}

// withoutURL keeps an error of net/url from repeating the URL, which may hold a
// password.
func withoutURL(err error) error {
	var e *url.Error
	if errors.As(err, &e) {
		return e.Err
	}
	return err
}
