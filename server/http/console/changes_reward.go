package console

import (
	"encoding/json"
	"net/http"
	"net/url"

	"github.com/scoreboard/scoreboard/client/wire"
)

// rewardChanges grant and revoke rewards.
func rewardChanges() []*change {
	boardField := field{Name: "board", Label: "Period", Kind: "hidden"}
	back := func(v url.Values) string { return rewardsHref(v.Get("board")) }
	return []*change{
		{
			name:    "reward-grant",
			title:   "Grant a reward",
			verb:    "Grant reward",
			section: "boards",
			action:  "reward.grant",
			intro:   "Grants a reward to a user in this period, whatever the table of the board says.",
			done:    "The reward is granted.",
			fields: []field{
				boardField,
				{Name: "user", Label: "User", Kind: "text", Required: true},
				{
					Name: "reward", Label: "Reward", Kind: "text", Required: true,
					Hint: `What the user gets, as JSON, such as {"gems":50}.`,
				},
				{Name: "expires", Label: "Can be claimed for", Kind: "text", Hint: "Such as 720h; 2160h if empty."},
			},
			effect: func(v url.Values) string {
				return v.Get("user") + " gets " + v.Get("reward") + " for " + v.Get("board") +
					", and can claim it. A user has one reward of a period: an earlier one must be revoked first."
			},
			command: func(v url.Values) []string {
				words := []string{
					"reward", "grant", v.Get("user"), "--board", v.Get("board"), "--reward", v.Get("reward"),
				}
				if v.Get("expires") != "" {
					words = append(words, "--expires", v.Get("expires"))
				}
				return words
			},
			request: func(v url.Values) (request, error) {
				reward := json.RawMessage(v.Get("reward"))
				if !json.Valid(reward) {
					return request{}, &failure{
						Status: http.StatusUnprocessableEntity, Code: string(wire.CodeInvalidRequest), Field: "reward",
						Message: "The reward is not valid JSON.", Next: `Write it as {"gems":50}, for example.`,
					}
				}
				return request{body: wire.RewardRequest{
					UserID: v.Get("user"), Board: v.Get("board"), Reward: reward, Expires: v.Get("expires"),
					Reason: v.Get(reasonField),
				}}, nil
			},
			back: back,
		},
		{
			name:    "reward-revoke",
			title:   "Revoke a reward",
			verb:    "Revoke reward",
			section: "boards",
			danger:  true,
			action:  "reward.revoke",
			intro:   "Takes back a reward that nobody has claimed.",
			done:    "The reward is revoked.",
			fields:  []field{boardField, {Name: "id", Label: "Reward", Kind: "hidden"}},
			effect: func(v url.Values) string {
				return "Reward " + v.Get("id") + " of " + v.Get("board") + " can no longer be claimed."
			},
			command: func(v url.Values) []string { return []string{"reward", "revoke", v.Get("id")} },
			request: func(v url.Values) (request, error) {
				return request{
					ids: []string{v.Get("id")}, body: wire.ReasonRequest{Reason: v.Get(reasonField)},
				}, nil
			},
			back: back,
		},
	}
}
