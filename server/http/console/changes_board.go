package console

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

const (
	labelHint = "A label to filter boards by."
	tagsHint  = "At most 10 labels to filter boards by, separated by commas."

	scheduleHint = "When periods begin, only for the period cron: minute, hour, day of the month, month and day of " +
		"the week, such as 0 18 * * fri."

	startsHint = "RFC 3339, such as 2027-03-01T00:00:00Z; now if empty."

	attemptsHint   = "Maximum number of events of a user that are recorded in a period; 0 is no limit."
	tiesHint       = "unique has the first of equal scores ahead, shared gives them the same rank."
	subscoreHint   = "Which subscore ranks first among equal scores; none: submissions have no subscore."
	maxPlayersHint = "Maximum number of users who join a period; 0 is no limit."
	metadataHint   = "Who sees the metadata of standings; none keeps none."
	partitionsHint = "1 to 64 Redis keys to spread the ranking over, for a board larger than one server."
)

var metadataOptions = []string{"none", "self", "public"}

// splitTags returns the tags of a field, never nil.
func splitTags(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' })
}

// boardChanges create and change boards.
func boardChanges() []*change {
	boardField := field{Name: "board", Label: "Board", Kind: "hidden"}
	page := func(v url.Values) string { return Root + "/boards/" + url.PathEscape(v.Get("board")) }
	out := []*change{
		{
			name:    "board-create",
			title:   "Create board",
			verb:    "Create board",
			section: "boards",
			action:  "board.create",
			intro:   "Creates a board, or a family of boards that restarts every period.",
			done:    "The board is created.",
			fields: []field{
				{
					Name: "board", Label: "Name", Kind: "text", Required: true,
					Hint: "1 to 48 of the characters a-z 0-9 _ . and -",
				},
				{
					Name: "mode", Label: "Mode", Kind: "choice", Options: []string{"increment", "best", "latest"},
					Hint: "increment adds points, best keeps the better score, latest the last one.",
				},
				{Name: "order", Label: "First is the", Kind: "choice", Options: []string{"highest", "lowest"}},
				{
					Name: "period", Label: "Period", Kind: "choice",
					Options: []string{"none", "daily", "weekly", "monthly", "season", "cron"},
				},
				{Name: "schedule", Label: "Schedule", Kind: "text", Hint: scheduleHint},
				{Name: "time_zone", Label: "Time zone", Kind: "text", Hint: "Such as Europe/Berlin; UTC if empty."},
				{Name: "season", Label: "First season", Kind: "text", Hint: "Only for the period season."},
				{Name: "starts", Label: "Start of the first season", Kind: "time", Hint: startsHint},
				{
					Name: "ends", Label: "End of the first season", Kind: "time",
					Hint: "RFC 3339, such as 2027-03-31T00:00:00Z",
				},
				{Name: "region", Label: "Region", Kind: "text", Hint: labelHint},
				{Name: "platform", Label: "Platform", Kind: "text", Hint: labelHint},
				{Name: "tags", Label: "Tags", Kind: "text", Hint: tagsHint},
				{Name: "visibility", Label: "Visibility", Kind: "choice", Options: []string{"public", "private"}},
				{Name: "attempts", Label: "Attempts", Kind: "number", Hint: attemptsHint + " 0 if empty."},
				{Name: "metadata", Label: "Metadata", Kind: "choice", Options: metadataOptions, Hint: metadataHint},
				{Name: "ties", Label: "Ties", Kind: "choice", Options: []string{"unique", "shared"}, Hint: tiesHint},
				{
					Name: "subscore", Label: "Subscore", Kind: "choice", Options: []string{"none", "highest", "lowest"},
					Hint: subscoreHint,
				},
				{Name: "min_subscore", Label: "Minimum subscore", Kind: "number", Hint: "No limit if empty."},
				{Name: "max_subscore", Label: "Maximum subscore", Kind: "number", Hint: "No limit if empty."},
				{
					Name: "join", Label: "Who may submit", Kind: "choice", Options: joinOptions,
					Hint: "required: only users who have joined the period. For the periods season and cron.",
				},
				{
					Name: "max_players", Label: "Maximum of players", Kind: "number",
					Hint: maxPlayersHint + " 0 if empty.",
				},
				{Name: "late_join", Label: "Join after the start", Kind: "choice", Options: []string{"no", "yes"}},
				{Name: "partitions", Label: "Partitions", Kind: "number", Hint: partitionsHint + " 1 if empty."},
			},
			effect: func(v url.Values) string {
				return "The board " + v.Get("board") + " is created and accepts scores at once. Its name, mode, " +
					"order, ties and subscore cannot be changed later."
			},
			command: func(v url.Values) []string {
				words := []string{"board", "create", v.Get("board")}
				for _, name := range []string{
					"mode", "order", "period", "schedule", "time_zone", "season", "starts", "ends", "region",
					"platform",
				} {
					if v.Get(name) != "" {
						words = append(words, "--"+strings.ReplaceAll(name, "_", "-"), v.Get(name))
					}
				}
				if tags := splitTags(v.Get("tags")); len(tags) > 0 {
					words = append(words, "--tag", strings.Join(tags, ","))
				}
				if v.Get("visibility") == "private" {
					words = append(words, "--private")
				}
				for _, name := range []string{
					"attempts", "metadata", "ties", "subscore", "min_subscore", "max_subscore", "join", "max_players",
					"partitions",
				} {
					if v.Get(name) != "" {
						words = append(words, "--"+strings.ReplaceAll(name, "_", "-"), v.Get(name))
					}
				}
				if v.Get("late_join") == "yes" {
					words = append(words, "--late-join")
				}
				return words
			},
			dryRun: func(k *call, v url.Values) ([]fact, error) {
				q, err := createRequest(v, true)
				if err != nil {
					return nil, err
				}
				var out wire.Board
				if err := k.operate("board.create", q, &out); err != nil {
					return nil, err
				}
				facts := []fact{{"Bounds of a delta", text(fmt.Sprintf("%d to %d", out.MinDelta, out.MaxDelta))}}
				for i, at := range out.NextResets {
					facts = append(facts, fact{fmt.Sprintf("Reset %d", i+1), text(at.Format(time.RFC3339))})
				}
				return facts, nil
			},
			request: func(v url.Values) (request, error) { return createRequest(v, false) },
			back:    func(url.Values) string { return Root + "/boards" },
			after:   func(v url.Values, _ json.RawMessage) string { return page(v) },
		},
		{
			name:    "board-label",
			title:   "Change labels",
			verb:    "Change board",
			section: "boards",
			action:  "board.set",
			intro:   "Sets the labels that boards can be filtered by.",
			done:    "The board is changed.",
			fields: []field{
				boardField,
				{Name: "region", Label: "Region", Kind: "text", Hint: labelHint},
				{Name: "platform", Label: "Platform", Kind: "text", Hint: labelHint},
				{Name: "tags", Label: "Tags", Kind: "text", Hint: tagsHint},
			},
			effect: func(v url.Values) string {
				return "Lists of boards show " + v.Get("board") + " under these labels. Scores do not change."
			},
			command: func(v url.Values) []string {
				return []string{
					"board", "set", v.Get("board"), "--region", v.Get("region"), "--platform", v.Get("platform"),
					"--tag", strings.Join(splitTags(v.Get("tags")), ","),
				}
			},
			request: func(v url.Values) (request, error) {
				region, platform, tags := v.Get("region"), v.Get("platform"), splitTags(v.Get("tags"))
				return request{ids: boardIDs(v), query: reasonQuery(v), body: wire.BoardChange{
					Region: &region, Platform: &platform, Tags: &tags,
				}}, nil
			},
			back: page,
		},
		{
			name:    "board-attempts",
			title:   "Change attempts",
			verb:    "Change board",
			section: "boards",
			action:  "board.set",
			intro:   "Limits how many events of a user are recorded in a period, improvements or not.",
			done:    "The board is changed.",
			fields: []field{
				boardField,
				{Name: "attempts", Label: "Attempts", Kind: "number", Required: true, Hint: attemptsHint},
			},
			effect: func(v url.Values) string {
				if v.Get("attempts") == "0" {
					return "The board " + v.Get("board") + " records every event."
				}
				return "The board " + v.Get("board") + " rejects what a user submits after " + v.Get("attempts") +
					" events in a period; those of the current period count. Scores do not change."
			},
			command: func(v url.Values) []string {
				return []string{"board", "set", v.Get("board"), "--attempts", v.Get("attempts")}
			},
			request: func(v url.Values) (request, error) {
				n, err := integer(v, "attempts", "The number of attempts")
				if err != nil {
					return request{}, err
				}
				return request{ids: boardIDs(v), query: reasonQuery(v), body: wire.BoardChange{Attempts: &n}}, nil
			},
			back: page,
		},
		{
			name:    "board-metadata",
			title:   "Change metadata",
			verb:    "Change board",
			section: "boards",
			action:  "board.set",
			intro:   "Sets whether the board keeps the metadata of submissions, and who sees it.",
			done:    "The board is changed.",
			fields: []field{
				boardField,
				{Name: "metadata", Label: "Metadata", Kind: "choice", Options: metadataOptions, Hint: metadataHint},
			},
			effect: func(v url.Values) string {
				if v.Get("metadata") == "none" {
					return "The board " + v.Get("board") + " keeps and shows no metadata from now on."
				}
				return "The board " + v.Get("board") + " keeps the metadata of submissions, and shows it to: " +
					v.Get("metadata") + ". Scores do not change."
			},
			command: func(v url.Values) []string {
				return []string{"board", "set", v.Get("board"), "--metadata", v.Get("metadata")}
			},
			request: func(v url.Values) (request, error) {
				change := wire.BoardChange{Metadata: new(v.Get("metadata"))}
				return request{ids: boardIDs(v), query: reasonQuery(v), body: change}, nil
			},
			back: page,
		},
		{
			name:    "board-subscore",
			title:   "Change bounds of subscores",
			verb:    "Change board",
			section: "boards",
			action:  "board.set",
			intro:   "Sets which subscores the board takes from now on.",
			done:    "The board is changed.",
			fields: []field{
				boardField,
				{Name: "min_subscore", Label: "Minimum subscore", Kind: "number", Required: true},
				{Name: "max_subscore", Label: "Maximum subscore", Kind: "number", Required: true},
			},
			effect: func(v url.Values) string {
				return "The board " + v.Get("board") + " takes subscores from " + v.Get("min_subscore") + " to " +
					v.Get("max_subscore") + ". Standings do not change."
			},
			command: func(v url.Values) []string {
				return []string{
					"board", "set", v.Get("board"), "--min-subscore", v.Get("min_subscore"), "--max-subscore",
					v.Get("max_subscore"),
				}
			},
			request: func(v url.Values) (request, error) {
				var change wire.BoardChange
				if err := subscoreBounds(v, &change.MinSubscore, &change.MaxSubscore); err != nil {
					return request{}, err
				}
				return request{ids: boardIDs(v), query: reasonQuery(v), body: change}, nil
			},
			back: page,
		},
		{
			name:    "board-partitions",
			title:   "Change partitions",
			verb:    "Change board",
			section: "boards",
			action:  "board.set",
			intro:   "Spreads the ranking over another number of Redis keys.",
			done:    "The board is changed.",
			fields: []field{
				boardField,
				{Name: "partitions", Label: "Partitions", Kind: "number", Required: true, Hint: partitionsHint},
			},
			effect: func(v url.Values) string {
				return "The ranking of " + v.Get("board") + " is rebuilt in " + v.Get("partitions") +
					" partitions while it stays online. Scores do not change."
			},
			command: func(v url.Values) []string {
				return []string{"board", "set", v.Get("board"), "--partitions", v.Get("partitions")}
			},
			request: func(v url.Values) (request, error) {
				n, err := integer(v, "partitions", "The number of partitions")
				if err != nil {
					return request{}, err
				}
				count := int(n)
				return request{ids: boardIDs(v), query: reasonQuery(v), body: wire.BoardChange{
					Partitions: &count,
				}}, nil
			},
			back: page,
		},
		{
			name:    "board-roll",
			title:   "Start a season or close due periods",
			verb:    "Roll over",
			section: "boards",
			danger:  true,
			action:  "board.roll",
			intro: "Closes the periods that are due and stores their final standings. With a season, starts that " +
				"season, which ends the current one.",
			done: "The board is rolled over.",
			fields: []field{
				boardField,
				{
					Name:  "season",
					Label: "Season to start",
					Kind:  "text",
					Hint:  "Leave empty to close due periods only.",
				},
				{Name: "starts", Label: "Start of the season", Kind: "time", Hint: startsHint},
				{
					Name:  "ends",
					Label: "End of the season",
					Kind:  "time",
					Hint:  "RFC 3339, such as 2027-03-31T00:00:00Z",
				},
			},
			effect: func(v url.Values) string {
				return "Standings of periods that end are final: nothing changes them later."
			},
			dryRun: func(k *call, v url.Values) ([]fact, error) {
				q, err := rollRequest(v, true)
				if err != nil {
					return nil, err
				}
				var out wire.Rolled
				if err := k.operate("board.roll", q, &out); err != nil {
					return nil, err
				}
				facts := []fact{{"Boards to create", text(orNone(strings.Join(out.Created, ", ")))}}
				for _, e := range out.Ended {
					facts = append(facts, fact{"Ends " + e.Board, text(formatNumber(e.Users) + " users")})
				}
				if out.Interrupted != "" {
					facts = append(facts, fact{"Season that ends early", text(out.Interrupted)})
				}
				return facts, nil
			},
			command: func(v url.Values) []string {
				words := []string{"board", "roll", v.Get("board")}
				if v.Get("season") != "" {
					words = append(words, "--season", v.Get("season"))
				}
				for _, name := range []string{"starts", "ends"} {
					if v.Get(name) != "" {
						words = append(words, "--"+name, v.Get(name))
					}
				}
				return words
			},
			request: func(v url.Values) (request, error) { return rollRequest(v, false) },
			back:    page,
		},
		{
			name:    "board-require",
			title:   "Change what increments need",
			verb:    "Change board",
			section: "boards",
			action:  "board.set",
			intro:   "Sets what increments must carry besides a signature.",
			done:    "The board is changed.",
			fields: []field{
				boardField,
				{
					Name: "require", Label: "Increments need", Kind: "choice",
					Options: []string{"none", "action-token", "attestation", "action-token,attestation"},
				},
				{Name: "action_min", Label: "Minimum duration of an action", Kind: "text", Hint: "Such as 30s."},
				{Name: "action_ttl", Label: "Lifetime of an action token", Kind: "text", Hint: "Such as 1h."},
			},
			effect: func(v url.Values) string {
				return "From now on, increments on " + v.Get("board") + " need: " + v.Get("require") +
					". Others are rejected. Scores do not change."
			},
			command: func(v url.Values) []string {
				words := []string{"board", "set", v.Get("board"), "--require", v.Get("require")}
				if v.Get("action_min") != "" {
					words = append(words, "--action-min", v.Get("action_min"))
				}
				if v.Get("action_ttl") != "" {
					words = append(words, "--action-ttl", v.Get("action_ttl"))
				}
				return words
			},
			request: func(v url.Values) (request, error) {
				require, body := []string{}, wire.BoardChange{}
				if v.Get("require") != "none" && v.Get("require") != "" {
					require = strings.Split(v.Get("require"), ",")
				}
				body.Require = &require
				if shortest := v.Get("action_min"); shortest != "" {
					body.ActionMin = &shortest
				}
				if ttl := v.Get("action_ttl"); ttl != "" {
					body.ActionTTL = &ttl
				}
				return request{ids: boardIDs(v), query: reasonQuery(v), body: body}, nil
			},
			back: page,
		},
	}
	for _, s := range []struct {
		name, verb, effect, done string
		danger                   bool
	}{
		{
			"freeze", "Freeze board", "%s rejects all writes until it is unfrozen. It stays readable.",
			"The board is frozen.", true,
		},
		{"unfreeze", "Unfreeze board", "%s accepts writes again.", "The board accepts writes again.", false},
		{
			"archive", "Archive board", "%s becomes read-only, and is served from PostgreSQL. This cannot be undone.",
			"The board is archived.", true,
		},
	} {
		out = append(out, &change{
			name:    "board-" + s.name,
			title:   s.verb,
			verb:    s.verb,
			section: "boards",
			danger:  s.danger,
			action:  "board." + s.name,
			intro:   fmt.Sprintf(s.effect, "The board"),
			done:    s.done,
			fields:  []field{boardField},
			effect:  func(v url.Values) string { return fmt.Sprintf(s.effect, v.Get("board")) },
			command: func(v url.Values) []string { return []string{"board", s.name, v.Get("board")} },
			request: func(v url.Values) (request, error) {
				return request{ids: boardIDs(v), query: reasonQuery(v)}, nil
			},
			back: page,
		})
	}
	return out
}

func createRequest(v url.Values, dry bool) (request, error) {
	public := v.Get("visibility") != "private"
	body := wire.BoardRequest{
		Board: v.Get("board"), Mode: v.Get("mode"), Order: v.Get("order"), Period: v.Get("period"),
		TimeZone: v.Get("time_zone"), Season: v.Get("season"), Region: v.Get("region"), Public: &public,
		Platform: v.Get("platform"), Tags: splitTags(v.Get("tags")), Schedule: v.Get("schedule"), DryRun: dry,
		Metadata: v.Get("metadata"), Ties: v.Get("ties"), Join: v.Get("join"), LateJoin: v.Get("late_join") == "yes",
		Subscore: v.Get("subscore"),
	}
	var err error
	if err = subscoreBounds(v, &body.MinSubscore, &body.MaxSubscore); err != nil {
		return request{}, err
	}
	if body.StartsAt, body.EndsAt, err = seasonTimes(v); err != nil {
		return request{}, err
	}
	if v.Get("attempts") != "" {
		n, err := integer(v, "attempts", "The number of attempts")
		if err != nil {
			return request{}, err
		}
		body.Attempts = &n
	}
	if body.MaxPlayers, err = maxPlayers(v); err != nil {
		return request{}, err
	}
	if v.Get("partitions") != "" {
		n, err := integer(v, "partitions", "The number of partitions")
		if err != nil {
			return request{}, err
		}
		count := int(n)
		body.Partitions = &count
	}
	return request{query: reasonQuery(v), body: body}, nil
}

// subscoreBounds sets the bounds of subscores in a form; nil if a field is empty.
func subscoreBounds(v url.Values, lowest, highest **int64) error {
	for _, f := range []struct {
		name, label string
		to          **int64
	}{
		{"min_subscore", "The minimum subscore", lowest}, {"max_subscore", "The maximum subscore", highest},
	} {
		if v.Get(f.name) == "" {
			continue
		}
		n, err := integer(v, f.name, f.label)
		if err != nil {
			return err
		}
		*f.to = &n
	}
	return nil
}

// seasonTimes returns the start and the end of a season in a form; nil if a field is empty.
func seasonTimes(v url.Values) (starts, ends *time.Time, err error) {
	if starts, err = optionalTime(v, "starts", "The start of the season"); err == nil {
		ends, err = optionalTime(v, "ends", "The end of the season")
	}
	return starts, ends, err
}

func optionalTime(v url.Values, name, label string) (*time.Time, error) {
	text := v.Get(name)
	if text == "" {
		return nil, nil //nolint:nilnil // an empty field
	}
	at, err := scoreboard.ParseTime(text)
	if err != nil {
		return nil, badTime(name, label)
	}
	return &at, nil
}

func rollRequest(v url.Values, dry bool) (request, error) {
	body := wire.RollRequest{DryRun: dry, Season: v.Get("season")}
	var err error
	if body.StartsAt, body.EndsAt, err = seasonTimes(v); err != nil {
		return request{}, err
	}
	return request{ids: boardIDs(v), query: reasonQuery(v), body: body}, nil
}
