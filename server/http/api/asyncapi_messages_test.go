package api

import (
	"encoding/json"
	"reflect"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/protocol"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// The channels of the AsyncAPI document.
const (
	channelWebSocket   = "webSocket"
	channelEventStream = "eventStream"
	channelPageStream  = "pageStream"
	channelWebhook     = "webhook"
)

// message is a type of message. The AsyncAPI document and the tables of messages in
// docs/protocol.md and docs/webhooks.md are made from these.
type message struct {
	kind     string // the value of type
	channels []string
	command  bool         // sent by the client
	of       reflect.Type // with the fields
	required []string     // fields that are always present, beside type
	optional []string
	when     string       // when it is sent, in Markdown
	data     reflect.Type // of the field data of a webhook's message
	about    string       // what data is, in Markdown
}

// name is the name of a message in the document: a webhook's may have the type of a stream's.
func (m *message) name() string {
	if m.kind == string(scoreboard.WebhookTierUpdated) && m.data != nil {
		return "webhook." + m.kind
	}
	return m.kind
}

// state are the fields that say which state of a board a message shows.
var state = []string{"board", "version", "epoch", "ts"}

// health are the fields of a state that is not from a healthy ranking, or comes late.
var health = []string{"degraded", "degraded_reason", "board_state", "window_ms"}

func messages() []message {
	everyStream := []string{channelWebSocket, channelEventStream, channelPageStream}
	userStreams := []string{channelWebSocket, channelEventStream}
	frame, command := reflect.TypeFor[wire.Message](), reflect.TypeFor[wire.Command]()
	hook := func(kind scoreboard.WebhookType, data reflect.Type, when, about string) message {
		return message{
			kind: string(kind), channels: []string{channelWebhook}, of: reflect.TypeFor[wire.WebhookMessage](),
			required: []string{"timestamp", "data"}, when: when, data: data, about: about,
		}
	}
	return []message{
		{
			kind: wire.MessageUpdated, channels: everyStream, of: frame, required: with(state, "top"), optional: health,
			when: "on connect, and when the top of the board has changed: the whole top",
		},
		{
			kind: wire.MessageDelta, channels: everyStream, of: frame,
			required: with(state, "base", "changed", "removed"), optional: health,
			when: "with `delta=1`, when the top of the board has changed: what differs from the message before",
		},
		{
			kind: wire.MessageRank, channels: userStreams, of: frame,
			required: []string{"board", "epoch", "ts", "user_id", "score", "rank"},
			optional: []string{"version", "previous_rank", "subscore"},
			when:     "when the rank or the score of the user whose token opened the stream has changed",
		},
		{
			kind: wire.MessageTier, channels: userStreams, of: frame,
			required: []string{"board", "epoch", "ts", "user_id", "score", "rank"},
			optional: []string{"version", "tier", "previous_tier", "subscore"},
			when:     "on a board with tiers, when the user whose token opened the stream has come into another one",
		},
		{
			kind: wire.MessageFriends, channels: userStreams, of: frame, required: with(state, "user_id", "friends"),
			when: "with `friends=1`, on connect, and when the standing of the user or of a friend has changed",
		},
		{
			kind: wire.MessageCohort, channels: userStreams, of: frame, required: with(state, "user_id"),
			optional: []string{"cohort"},
			when: "with `cohort=1` on a league, on connect, and when the standing of a member of the user's cohort " +
				"has changed",
		},
		{
			kind: wire.MessageBye, channels: everyStream, of: frame, required: []string{"reason", "reconnect_after_ms"},
			when: "before the server closes the connection",
		},
		{
			kind: wire.MessageError, channels: []string{channelWebSocket}, of: frame,
			required: []string{"error_code", "message"}, optional: []string{"field", "board"},
			when: "when a command, or the connection, was rejected",
		},
		{
			kind: "subscribe", channels: []string{channelWebSocket}, command: true, of: command,
			required: []string{"board"}, when: "to follow one more board",
		},
		{
			kind: "unsubscribe", channels: []string{channelWebSocket}, command: true, of: command,
			required: []string{"board"}, when: "to follow a board no longer",
		},
		hook(scoreboard.WebhookSeasonClosed, reflect.TypeFor[protocol.SeasonClosed](),
			"a period (day, week, month, season) has ended and its standings are final",
			"[the event that ends a period](events.md), with the first ten users"),
		hook(scoreboard.WebhookUserFlagged, reflect.TypeFor[wire.Flag](),
			"a user's events look suspicious ([moderation.md](moderation.md#anomalies)) and the user has no open flag "+
				"of this kind",
			"the flag, as `GET /v1/admin/flags/{id}` shows it"),
		hook(scoreboard.WebhookRankReached, reflect.TypeFor[wire.RankReached](),
			"a user has entered the top N (`--top`) of a board in `--board`",
			"`board`, `family`, `top`, `rank`, `user_id`, `score`"),
		hook(scoreboard.WebhookTierUpdated, reflect.TypeFor[wire.TierUpdated](),
			"a user's own event has moved the user to another [tier](tiers.md) of a board",
			"`board`, `family`, `tier`, `previous_tier`, `rank`, `user_id`, `score`"),
		hook(scoreboard.WebhookLeagueMoved, reflect.TypeFor[wire.LeagueMoved](),
			"the end of a period has moved players of a [league](leagues.md) to other divisions",
			"`board`, `family`, and up to 100 `moves` with `user_id`, `rank`, `players`, `from_division` and "+
				"`to_division`"),
		hook(scoreboard.WebhookRewardGranted, reflect.TypeFor[wire.RewardGranted](),
			"a user has won a [reward](rewards.md) in a period, and can claim it",
			"`id`, `board`, `family`, `user_id`, `rank`, `reward`, `revision`, `expires_at`"),
		hook(scoreboard.WebhookTest, reflect.TypeFor[struct{}](), "`sbctl webhook test ID`", "empty"),
	}
}

// exampleWebhookMessages are made as the server makes them. Those of streams are on
// docs/protocol.md, where a test of package realtime compares them with what is sent.
func exampleWebhookMessages() map[string]string {
	season := protocol.EncodeSeasonClosed(&scoreboard.EndedPeriod{
		Board: scoreboard.Board{
			ID: "daily:2026-11-21", Family: "daily", Period: "daily", Labels: scoreboard.Labels{Region: "eu"},
			Mode: "increment", Order: "highest",
			PeriodStart: at("2026-11-20T23:00:00Z"), PeriodEnd: at("2026-11-21T23:00:00Z"),
			Closed: at("2026-11-21T23:01:00.123456Z"), StandingsHash: exampleHash, StandingsVersion: 2,
		},
		Users: 2,
		Top:   []scoreboard.Entry{{Rank: 1, User: "ada", Score: 125}, {Rank: 2, User: "bob", Score: 90}},
	})
	encode := func(kind scoreboard.WebhookType, data any) string {
		text, err := json.Marshal(data)
		if err != nil {
			panic(err)
		}
		return protocol.EncodeWebhook(kind, at("2026-11-21T12:00:00.2Z"), text)
	}
	return map[string]string{
		"season.closed": encode(scoreboard.WebhookSeasonClosed, json.RawMessage(season)),
		"user.flagged":  encode(scoreboard.WebhookUserFlagged, exampleFlag),
		"rank.reached": encode(scoreboard.WebhookRankReached, wire.RankReached{
			Board: "global", Family: "global", Top: 10, Entry: wire.Entry{Rank: 4, UserID: "ada", Score: 125},
		}),
		"webhook.user.tier.updated": encode(scoreboard.WebhookTierUpdated, wire.TierUpdated{
			Board: "global", Family: "global", Tier: "gold", PreviousTier: "silver",
			Entry: wire.Entry{Rank: 4, UserID: "ada", Score: 125},
		}),
		"league.moved": encode(scoreboard.WebhookLeagueMoved, wire.LeagueMoved{
			Board: "stars:2026-w46", Family: "stars", Moves: []wire.LeagueMove{
				{UserID: "ada", Rank: 3, Players: 50, From: 1, To: 2},
			},
		}),
		"reward.granted": encode(scoreboard.WebhookRewardGranted, wire.RewardGranted{
			ID: 8841, Board: "weekly:2026-w47", Family: "weekly", UserID: "ada", Rank: 2,
			Reward: json.RawMessage(`{"gems":500}`), Revision: 1, ExpiresAt: at("2027-02-21T00:00:02Z"),
		}),
		"webhook.test": encode(scoreboard.WebhookTest, struct{}{}),
	}
}
