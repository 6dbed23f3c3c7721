package console

import (
	"net/url"
	"strings"

	"github.com/scoreboard/scoreboard/client/wire"
)

// keyChanges manage signing keys.
func keyChanges() []*change {
	key := field{Name: "key", Label: "Key", Kind: "hidden"}
	list := func(url.Values) string { return Root + "/keys" }
	return []*change{
		{
			name:    "key-create",
			title:   "Create signing key",
			verb:    "Create key",
			section: "keys",
			action:  "key.create",
			intro:   "Creates a key that signs events. Its secret is shown once.",
			done:    "The key is created.",
			secret:  true,
			fields: []field{
				{Name: "name", Label: "Name", Kind: "text", Required: true},
				{Name: "boards", Label: "Boards", Kind: "text", Hint: "Separated by commas; all if empty."},
				{Name: "user_prefix", Label: "Prefix of user ids", Kind: "text", Hint: "All users if empty."},
				{Name: "max_delta", Label: "Maximum delta", Kind: "number", Hint: "The board's limits if empty."},
				{Name: "per_minute", Label: "Events per minute", Kind: "number", Hint: "Unlimited if empty."},
				{Name: "ttl", Label: "Lifetime", Kind: "text", Hint: "Such as 2160h; until revoked if empty."},
			},
			effect: func(v url.Values) string {
				return "A new key named " + v.Get(
					"name",
				) + " is valid at once. Copy its secret from the next page: it is " +
					"not shown again."
			},
			command: func(v url.Values) []string {
				words := []string{"key", "create", "--name", v.Get("name")}
				for _, b := range splitList(v.Get("boards")) {
					words = append(words, "--board", b)
				}
				for _, f := range []string{"user_prefix", "max_delta", "per_minute", "ttl"} {
					if v.Get(f) != "" {
						words = append(words, "--"+strings.ReplaceAll(f, "_", "-"), v.Get(f))
					}
				}
				return words
			},
			request: func(v url.Values) (request, error) {
				body := wire.KeyRequest{
					Name: v.Get(
						"name",
					),
					TTL:        v.Get("ttl"),
					UserPrefix: v.Get("user_prefix"),
					Boards:     splitList(v.Get("boards")),
				}
				if v.Get("max_delta") != "" {
					n, err := integer(v, "max_delta", "The maximum delta")
					if err != nil {
						return request{}, err
					}
					body.MaxDelta = n
				}
				if v.Get("per_minute") != "" {
					n, err := integer(v, "per_minute", "Events per minute")
					if err != nil {
						return request{}, err
					}
					body.PerMinute = int(n)
				}
				return request{query: reasonQuery(v), body: body}, nil
			},
			back: list,
		},
		{
			name:    "key-rotate",
			title:   "Rotate signing key",
			verb:    "Rotate key",
			section: "keys",
			action:  "key.rotate",
			intro:   "Gives the key a new secret. The old one stays valid for a while.",
			done:    "The key has a new secret.",
			secret:  true,
			fields: []field{
				key,
				{Name: "overlap", Label: "The old secret stays valid for", Kind: "text", Value: "24h", Required: true},
			},
			effect: func(v url.Values) string {
				return "The key " + v.Get(
					"key",
				) + " gets a new secret, shown once on the next page. The old one is valid for " +
					v.Get(
						"overlap",
					) + " more."
			},
			command: func(v url.Values) []string {
				return []string{"key", "rotate", v.Get("key"), "--overlap", v.Get("overlap")}
			},
			request: func(v url.Values) (request, error) {
				return request{
					ids: []string{v.Get("key")}, query: reasonQuery(v),
					body: wire.RotateRequest{Overlap: v.Get("overlap")},
				}, nil
			},
			back: list,
		},
		{
			name: "key-revoke", title: "Revoke signing key", verb: "Revoke key", section: "keys", danger: true,
			action: "key.revoke", intro: "Revokes the key at once. This cannot be undone.",
			done:   "The key is revoked.",
			fields: []field{key},
			effect: func(v url.Values) string {
				return "Events that " + v.Get(
					"key",
				) + " signs are rejected at once. Events that it has signed before keep " +
					"counting. This cannot be undone."
			},
			command: func(v url.Values) []string { return []string{"key", "revoke", v.Get("key")} },
			request: func(v url.Values) (request, error) {
				return request{ids: []string{v.Get("key")}, query: reasonQuery(v)}, nil
			},
			back: list,
		},
	}
}
