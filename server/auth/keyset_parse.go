package auth

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/MicahParks/jwkset"
	"github.com/golang-jwt/jwt/v5"
)

// parseKeySet returns the keys of a set that can verify tokens and skips others. A set
// without a usable key is an error.
func parseKeySet(body []byte) ([]jwkset.JWK, error) {
	var set struct {
		Keys *[]jwkset.JWKMarshal `json:"keys"`
	}
	if err := json.Unmarshal(body, &set); err != nil || set.Keys == nil {
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
		m.X5U, m.X5C, m.X5T, m.X5TS256 = "", nil, "", "" // only the key itself is used
		key, err := jwkset.NewJWKFromMarshal(m, jwkset.JWKMarshalOptions{}, jwkset.JWKValidateOptions{})
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
