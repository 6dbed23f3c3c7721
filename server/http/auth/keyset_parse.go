package auth

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"errors"
	"fmt"

	"github.com/MicahParks/jwkset"
	"github.com/golang-jwt/jwt/v5"
)

// publicKey is the public part of a key, without certificates and URLs.
type publicKey jwkset.JWKMarshal

// UnmarshalJSON implements json.Unmarshaler.
func (k *publicKey) UnmarshalJSON(b []byte) error {
	return decodeExact(b, (*jwkset.JWKMarshal)(k), "kty", "use", "key_ops", "alg", "kid", "crv", "x", "y", "n", "e")
}

// parseKeySet returns the keys of a set that can verify tokens and skips others. A set
// without a usable key is an error.
func parseKeySet(body []byte) ([]jwkset.JWK, error) {
	var set struct {
		Keys *[]publicKey `json:"keys"`
	}
	if err := decodeExact(body, &set, "keys"); err != nil || set.Keys == nil {
		return nil, errors.New("read the key set: invalid JSON")
	}
	if len(*set.Keys) > maxKeySetKeys {
		return nil, fmt.Errorf("read the key set: it has more than %d keys", maxKeySetKeys)
	}
	keys := make([]jwkset.JWK, 0, len(*set.Keys))
	named := make(map[string]bool)
	for _, m := range *set.Keys {
		if m.KID == "" || len(m.KID) > maxKeyIDBytes || named[m.KID] {
			continue
		}
		key, err := jwkset.NewJWKFromMarshal(
			jwkset.JWKMarshal(m), jwkset.JWKMarshalOptions{}, jwkset.JWKValidateOptions{},
		)
		if err != nil || algorithmOf(key.Key()) == "" {
			continue
		}
		named[m.KID] = true
		keys = append(keys, key)
	}
	if len(keys) == 0 && len(*set.Keys) > 0 {
		return nil, errors.New("read the key set: none of its keys is for RS256, ES256 or EdDSA")
	}
	return keys, nil
}

// algorithmOf returns the one algorithm that a key verifies, "" for none. The token
// never chooses the algorithm.
func algorithmOf(key any) string {
	switch key := key.(type) {
	case *rsa.PublicKey:
		if bits := key.N.BitLen(); bits >= minRSABits && bits <= maxRSABits {
			return jwt.SigningMethodRS256.Alg()
		}
	case *ecdsa.PublicKey:
		if key.Curve == elliptic.P256() {
			return jwt.SigningMethodES256.Alg()
		}
	case ed25519.PublicKey:
		return jwt.SigningMethodEdDSA.Alg()
	}
	return ""
}
