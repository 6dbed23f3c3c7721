package scoreboard

import (
	"crypto/sha256"
	"encoding/base32"
	"strings"
)

// MaxExternalID is the longest id of an identity provider for a user, in bytes (OpenID
// Connect Core, 2).
const MaxExternalID = 255

// Prefixes of user ids that are derived from external ids.
const (
	encodedPrefix = "x:" // then the external id in base32
	digestPrefix  = "h:" // then its SHA-256 in base32
)

// Lower case, because user ids are shown; without padding, which is not in their alphabet.
var lowerBase32 = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// ExternalUserID returns the user of an identity provider's id: the id itself if it is a
// user id, else one derived from it. Different ids are different users: an id with a
// prefix of derived ones is not taken as it is. Nor is one that the server could have made.
func ExternalUserID(external string) (UserID, error) {
	if external == "" || len(external) > MaxExternalID || !IsText(external) {
		return "", Invalid("user_id", "an external user id must be 1 to %d bytes of UTF-8 without control characters",
			MaxExternalID)
	}
	derived := strings.HasPrefix(external, encodedPrefix) || strings.HasPrefix(external, digestPrefix)
	if user, err := ParseClientUserID(external); err == nil && !derived {
		return user, nil
	}
	if encoded := encodedPrefix + lowerBase32.EncodeToString([]byte(external)); len(encoded) <= MaxUserIDLength {
		return UserID(encoded), nil
	}
	sum := sha256.Sum256([]byte(external))
	return UserID(digestPrefix + lowerBase32.EncodeToString(sum[:])), nil
}
