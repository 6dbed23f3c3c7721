package console

import (
	"cmp"
	"net/url"

	"github.com/scoreboard/scoreboard/client/wire"
)

var joinOptions = []string{wire.JoinOpen, wire.JoinRequired}

// tournamentChanges change who may submit to periods.
func tournamentChanges() []*change {
	boardField := field{Name: "board", Label: "Board", Kind: "hidden"}
	players := func(v url.Values) string { return boardHref(v.Get("board")) + "/players" }
	player := func(v url.Values) (request, error) {
		return request{ids: []string{v.Get("board"), v.Get("user")}, query: reasonQuery(v)}, nil
	}
	return []*change{
		{
			name:    "board-join",
			title:   "Change who may submit",
			verb:    "Change board",
			section: "boards",
			action:  "board.set",
			intro:   "Sets whether users must join a period before they submit to it, and how many can.",
			done:    "The board is changed.",
			fields: []field{
				boardField,
				{
					Name: "join", Label: "Who may submit", Kind: "choice", Options: joinOptions,
					Hint: "required: only users who have joined the period. For the periods season and cron.",
				},
				{
					Name: "max_players", Label: "Maximum of players", Kind: "number",
					Hint: maxPlayersHint + " 0 if empty.",
				},
				{Name: "late_join", Label: "Join after the start", Kind: "choice", Options: []string{"no", "yes"}},
			},
			effect: func(v url.Values) string {
				if v.Get("join") != wire.JoinRequired {
					return "Everybody may submit to the periods of " + v.Get("board") + " that begin from now on."
				}
				return "Only users who have joined may submit to the periods of " + v.Get("board") +
					" that begin from now on. The maximum and late joins apply at once; nobody who has joined is " +
					"removed."
			},
			command: func(v url.Values) []string {
				words := []string{"board", "set", v.Get("board"), "--join", v.Get("join")}
				if v.Get("join") == wire.JoinRequired {
					words = append(words, "--max-players", cmp.Or(v.Get("max_players"), "0"))
					if v.Get("late_join") == "yes" {
						return append(words, "--late-join")
					}
					words = append(words, "--late-join=false")
				}
				return words
			},
			request: func(v url.Values) (request, error) {
				body := wire.BoardChange{Join: new(v.Get("join"))}
				if v.Get("join") == wire.JoinRequired {
					n, err := maxPlayers(v)
					if err != nil {
						return request{}, err
					}
					body.MaxPlayers, body.LateJoin = &n, new(v.Get("late_join") == "yes")
				}
				return request{ids: boardIDs(v), query: reasonQuery(v), body: body}, nil
			},
			back: func(v url.Values) string { return boardHref(v.Get("board")) },
		},
		{
			name:    "player-add",
			title:   "Add a player",
			verb:    "Add player",
			section: "boards",
			action:  "player.add",
			intro:   "Adds a user to a period, whether it has begun or not.",
			done:    "The user has joined the period.",
			fields:  []field{boardField, {Name: "user", Label: "User", Kind: "text", Required: true}},
			effect: func(v url.Values) string {
				return v.Get("user") + " joins " + v.Get("board") + " and may submit to it."
			},
			command: func(v url.Values) []string {
				return []string{"tournament", "add", v.Get("board"), v.Get("user")}
			},
			request: player,
			back:    players,
		},
		{
			name:    "player-remove",
			title:   "Remove a player",
			verb:    "Remove player",
			section: "boards",
			danger:  true,
			action:  "player.remove",
			intro:   "Removes a user from a period, whether it has begun or not.",
			done:    "The user is removed from the period.",
			fields:  []field{boardField, userField},
			effect: func(v url.Values) string {
				return v.Get("user") + " is removed from " + v.Get("board") +
					", and later submissions are rejected. What the user has scored stays."
			},
			command: func(v url.Values) []string {
				return []string{"tournament", "remove", v.Get("board"), v.Get("user")}
			},
			request: player,
			back:    players,
		},
	}
}

// maxPlayers parses the maximum of players in a form; 0 if the field is empty.
func maxPlayers(v url.Values) (int64, error) {
	if v.Get("max_players") == "" {
		return 0, nil
	}
	return integer(v, "max_players", "The maximum of players")
}
