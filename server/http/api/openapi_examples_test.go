package api

import (
	"encoding/json"
	"reflect"
	"strings"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// The examples tell one story: ada gets 25 points in a match, and an operator looks
// after the boards.
const (
	exampleEvent  = "match-8841"
	exampleReason = "cheating, ticket 4711"
	exampleHash   = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
	exampleKey    = "k_4q7rz2mbx5ta"
	exampleSecret = "sk_test_0123456789abcdef"
)

// examplePath has values of the parameters of paths.
var examplePath = map[string]any{
	"user_id": "ada", "board": "global", "event_id": exampleEvent, "key_id": exampleKey, "id": 1,
	"webhook_id": "wh_7f3a9c2e5b1d", "team": "ants",
	"name": "reads.top_n", "page": "first-point", "file": "score-board.js",
}

func at(text string) time.Time {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		panic(err)
	}
	return t
}

var exampleMidnight = at("2026-11-22T00:00:00Z")

// named are several examples of one body, by name.
type named map[string]any

// exampleOf returns the example of a body of a route: that of the route, else that of
// the type. It is a value of one type, or named.
func exampleOf(route string, body any) any {
	if example, ok := exampleOfRoute[route]; ok {
		if body == nil || reflect.TypeOf(example) == reflect.TypeOf(body) {
			return example
		}
	}
	switch body := body.(type) {
	case media:
		return exampleMedia[body]
	case stream:
		return exampleOf(route, body.of)
	case ndjson:
		if job, ok := exampleJobs[route]; ok {
			progress := wire.JobLine{Type: "progress", Board: "global", Users: 5000, Total: 12000}
			return named{"line1": progress, "line2": job}
		}
		if route == "GET /v1/admin/boards/:board/export" {
			return exampleBoardExport
		}
		return exampleExport
	case oneOf:
		all := named{}
		for _, one := range body {
			name := reflect.TypeOf(one).Name()
			all[strings.ToLower(name[:1])+name[1:]] = exampleOf(route, one)
		}
		return all
	}
	for _, example := range examples {
		if reflect.TypeOf(example) == reflect.TypeOf(body) {
			return example
		}
	}
	return nil
}

// exampleIncrement is signed by the secret of POST /v1/admin/keys' example.
func exampleIncrement() wire.IncrementRequest {
	r := wire.IncrementRequest{
		UserID: "ada", Delta: 25, EventID: exampleEvent, Timestamp: "2026-11-21T12:00:00Z", KeyID: exampleKey,
	}
	r.Signature = wire.Sign(exampleSecret, r.FieldText())
	return r
}

var exampleReceipt = wire.Receipt{
	UserID: "ada", Board: "global", NewScore: 125, PreviousScore: new(int64(100)), Rank: new(int64(1)), Version: 5,
	ProcessedEventID: exampleEvent, Applied: 25, RecordedAt: at("2026-11-21T12:00:00.123456Z"),
	Status: wire.StatusDone,
}

var exampleEntries = []wire.Entry{
	{Rank: 1, UserID: "ada", Score: 125, DisplayName: "Ada", AvatarURL: "https://images.example.com/ada.png"},
	{Rank: 2, UserID: "bob", Score: 90},
}

var exampleRewards = wire.RewardTable{
	Board: "weekly", Since: new(at("2026-11-01T12:00:00Z")), Expires: "2160h0m0s", Bands: []wire.RewardBand{
		{FirstRank: 1, LastRank: 3, Reward: json.RawMessage(`{"gems":500,"badge":"podium"}`)},
		{Percentile: 10, Reward: json.RawMessage(`{"gems":50}`)},
	},
}

var exampleReward = wire.Reward{
	ID: 8841, UserID: "ada", Board: "weekly:2026-w46", Rank: 2,
	Reward: json.RawMessage(`{"gems":500,"badge":"podium"}`),
	State:  "claimed", Revision: 1, GrantedAt: at("2026-11-16T00:00:02Z"), ExpiresAt: at("2027-02-14T00:00:02Z"),
	ClaimedAt: new(at("2026-11-16T08:12:00Z")),
}

var exampleOutcome = wire.LeagueOutcome{
	ID: 4811, League: "stars", Board: "stars:2026-w46", UserID: "ada", Revision: 1, Cohort: 4711, Rank: 3, Players: 50,
	From: 1, To: 2, DecidedAt: at("2026-11-16T00:00:02Z"),
}

var exampleMember = wire.TeamMember{
	Board: "clans", Team: "ants", UserID: "ada", JoinedAt: at("2026-11-20T18:00:00Z"), JoinedScore: 125,
}

var exampleBoard = wire.Board{
	Board: "daily:2026-11-21", Family: "daily", Mode: "increment", Order: "highest", Status: "active", MinDelta: 1,
	MaxDelta: 1_000_000, MinScore: -scoreboard.MaxScore, MaxScore: scoreboard.MaxScore, Public: true, Region: "eu",
	Period: "daily", TimeZone: "Europe/Berlin", PeriodStart: new(at("2026-11-20T23:00:00Z")),
	PeriodEnd: new(at("2026-11-21T23:00:00Z")), CreatedAt: at("2026-11-20T22:00:00Z"), Partitions: 1,
	Tiers: []wire.Tier{{Name: "gold", Rank: 10}, {Name: "silver", Percentile: 25}},
	Title: "Today in the arena", Color: "#7a3fc4",
}

var exampleRule = wire.BoardRule{
	Board: "eu-ranked", Status: "active", Regions: []string{"eu"},
	Attributes: map[string][]string{"platform": {"pc", "mac"}},
}

var exampleKeyShown = wire.Key{
	KeyID: exampleKey, Name: "game-server", CreatedAt: at("2026-11-21T09:00:00Z"), Boards: []string{"daily", "global"},
	PerMinute: 600, Generation: 1,
}

var exampleWebhook = wire.Webhook{
	WebhookID: "wh_7f3a9c2e5b1d", URL: "https://example.com/hooks", Types: []string{"season.closed", "rank.reached"},
	Boards: []string{"daily"}, Top: 10, CreatedAt: at("2026-11-21T09:00:00Z"), Generation: 1, Pending: 2,
	PendingSeconds: 31,
}

var exampleJob = wire.Job{
	JobID: 3, Kind: "rebuild", Target: "board:global", State: "running", Node: "node-1", Who: "operator",
	Reason: exampleReason, StartedAt: at("2026-11-21T12:05:00Z"),
	Line: &wire.JobLine{Type: "progress", Board: "global", Users: 4000, Total: 12_000},
}

var exampleDelivery = wire.WebhookDelivery{
	ID: 17, MessageID: "msg_2k7qw5nd3zf6rbx4yt2aomc7pe", Type: "rank.reached",
	Payload: json.RawMessage(`{"type":"rank.reached","timestamp":"2026-11-21T12:00:00.2Z","data":{` +
		`"board":"daily:2026-11-21","family":"daily","top":10,"rank":4,"user_id":"ada","score":125}}`),
	State: "delivered", Attempts: 1, CreatedAt: at("2026-11-21T12:00:00.3Z"),
	EndedAt: new(at("2026-11-21T12:00:00.4Z")),
	Status:  200,
}

func delivery(change func(*wire.WebhookDelivery)) wire.WebhookDelivery {
	d := exampleDelivery
	d.State, d.EndedAt, d.NextAt, d.Attempts, d.Status = "pending", nil, new(at("2026-11-21T12:00:00.3Z")), 0, 0
	change(&d)
	return d
}

func webhook(change func(*wire.Webhook)) wire.Webhook {
	w := exampleWebhook
	w.Pending, w.PendingSeconds = 0, 0
	change(&w)
	return w
}

var exampleFlag = wire.Flag{
	ID: 1, State: "open", Rule: "size", Mode: "flag", UserID: "mallory", Board: "global", EventID: "match-9001",
	Delta: 50_000, Detail: "delta 50000, the largest of the last 20 was 40", Times: 3,
	CreatedAt: at("2026-11-21T12:00:00Z"), LastAt: at("2026-11-21T12:04:10Z"),
}

var exampleVoid = wire.Void{
	ID: 1, State: "reversing", KeyID: exampleKey, From: at("2026-11-21T10:00:00Z"), To: at("2026-11-21T11:00:00Z"),
	Reason: "leaked key, ticket 4711", Who: "operator", CreatedAt: at("2026-11-21T12:00:00Z"), Todo: 400,
	Reversed: 1200, Skipped: 2, SkippedFor: map[string]int64{"board_closed": 2},
}

var exampleLetter = wire.DeadLetter{
	ID: 1, Topic: "scoreboard.events.v1", Partition: 3, Offset: 118_204, Reason: "decode an event: invalid board",
	Attempts: 1, DeadLetteredAt: at("2026-11-21T12:00:00Z"),
}

var exampleSetting = wire.Setting{
	Name: "reads.top_n", Value: "10", Source: "default", Meaning: "rows in a message of a stream: 10 or 100",
	Live: true,
}

var exampleRanking = wire.RankingStatus{
	Board: "global", State: "HEALTHY", Partitions: 1, Epoch: 7, Version: 4211, Members: 12_000, Bytes: 1_572_864,
	BuiltAt: new(at("2026-11-21T03:00:00Z")), AsOf: new(at("2026-11-21T12:00:00.2Z")), AgeMS: new(int64(180)),
}

var exampleVerified = wire.Verified{
	Users: 12_000, Rows: 480_000, Rewards: 120, Differences: []wire.Difference{}, TookMS: 2150,
}

func key(change func(*wire.Key)) wire.Key {
	k := exampleKeyShown
	change(&k)
	return k
}

func board(change func(*wire.Board)) wire.Board {
	b := exampleBoard
	change(&b)
	return b
}

func flagged(change func(*wire.Flag)) wire.Flag {
	f := exampleFlag
	f.DecidedBy, f.DecidedAt, f.Reason = "operator", new(at("2026-11-21T13:00:00Z")), exampleReason
	change(&f)
	return f
}

func letter(value string) wire.DeadLetter {
	l := exampleLetter
	l.Value = []byte(value)
	return l
}

func global(b *wire.Board) {
	b.Board, b.Family, b.Region, b.Period, b.TimeZone, b.PeriodStart, b.PeriodEnd =
		"global", "", "", "none", "", nil, nil
	b.CreatedAt = at("2026-11-01T08:00:00Z")
}

// examples has a body of each type.
var examples = []any{
	exampleIncrement(),
	exampleReceipt,
	wire.ImportRequest{Source: "nakama:weekly", Board: "weekly"},
	wire.Import{ImportID: 1, Source: "nakama:weekly", Board: "weekly:2026-w47", Users: 12_000, Events: 12_480},
	wire.Imports{Imports: []wire.Import{{
		ImportID: 1, Source: "nakama:weekly", Board: "weekly:2026-w47", Users: 12_000, Events: 12_480,
		StartedAt: new(at("2026-11-21T12:00:00Z")), LastAt: new(at("2026-11-21T12:00:41Z")),
	}}},
	wire.ImportSummary{
		Board: "weekly:2026-w47", Users: 2, Sum: "215", Digest: "10294872935587213312", Top: []string{"ada", "bob"},
		Others: 3,
	},
	wire.ImportRecords{Records: []wire.ImportRecord{
		{UserID: "ada", Score: 125, Metadata: `{"car":"roadster"}`},
		{UserID: "erased", Score: 7},
		{UserID: "bob", Score: 90},
	}},
	wire.ImportedRecords{Written: 1, Unchanged: 1, Rejected: []wire.RejectedRecord{{
		UserID: "erased",
		Error:  wire.Error{ErrorCode: string(wire.CodeGone), Message: "user erased is erased"},
	}}},
	wire.Receipts{UserID: "ada", ProcessedEventID: exampleEvent, Receipts: []wire.Receipt{
		exampleReceipt,
		{
			UserID: "ada", Board: "daily:2026-11-21", NewScore: 25, PreviousScore: new(int64(0)), Rank: new(int64(3)),
			Version: 1, ProcessedEventID: exampleEvent, Applied: 25, RecordedAt: at("2026-11-21T12:00:00.123456Z"),
			Status: wire.StatusDone,
		},
	}},
	wire.EventStatus{ProcessedEventID: exampleEvent, Status: wire.StatusPending},
	wire.Batch{Items: []wire.IncrementRequest{
		{UserID: "ada", Delta: 25, EventID: exampleEvent, Timestamp: "2026-11-21T12:00:00Z"},
		{UserID: "bob", Delta: 2_000_000, EventID: "match-8842", Timestamp: "2026-11-21T12:00:00Z"},
	}},
	wire.BatchResults{Results: []wire.BatchResult{
		{Status: wire.StatusDone, Receipt: &exampleReceipt},
		{Status: wire.StatusRejected, Error: new(exampleError(wire.CodeDeltaOutOfRange))},
	}},
	wire.ActionRequest{UserID: "ada", Board: "arena", Action: "race", MinDuration: "30s", TTL: "10m"},
	wire.Action{
		ActionID: "0193a5b2-6f3a-7c41-8d12-5a0f9b1c2d3e", ActionToken: "eyJhbGciOiJFZERTQSJ9.eyJhY3QiOiJyYWNlIn0.c2ln",
		UserID: "ada", Board: "arena", Action: "race", MinDuration: "30s", MinDelta: 1, MaxDelta: 1000,
		IssuedAt: at("2026-11-21T12:00:00Z"), ExpiresAt: at("2026-11-21T12:10:00Z"),
	},
	wire.Top{
		Board: "global", Entries: exampleEntries, Total: 12_000, UpdatedAt: at("2026-11-21T12:00:00.123456Z"),
		AsOf: at("2026-11-21T12:00:00.2Z"), AgeMS: 180, Version: new(int64(4211)), Epoch: new(int64(7)),
		BoardState: "HEALTHY", NextCursor: "eyJzIjo5MH0.c2ln",
	},
	wire.Place{
		Board: "global", UserID: "ada", Score: 125, Rank: 1, Total: 12_000, Percentile: 99.9,
		Version: new(int64(4211)), Epoch: new(int64(7)), UpdatedAt: at("2026-11-21T12:00:00.123456Z"),
		AsOf: at("2026-11-21T12:00:00.2Z"), AgeMS: 180, BoardState: "HEALTHY", Neighbours: exampleEntries,
		Tier: "silver", NextTier: &wire.NextTier{Name: "gold", Points: 20},
	},
	wire.RankHistory{
		Board: "global", UserID: "ada", Points: []wire.RankPoint{
			{At: at("2026-11-21T10:00:00Z"), Total: 11_950},
			{At: at("2026-11-21T11:00:00Z"), Score: new(int64(100)), Rank: new(int64(4)), Total: 11_981},
			{At: at("2026-11-21T12:00:00Z"), Score: new(int64(125)), Rank: new(int64(1)), Total: 12_000},
		},
		BestRank: 1, BestRankAt: at("2026-11-21T12:00:00Z"), DaysInTop10: 1,
		Climb: &wire.RankClimb{
			Began: at("2026-11-21T11:00:00Z"), Ended: at("2026-11-21T12:00:00Z"), Ranks: 3,
		},
		AllTime: &wire.AllTimeRanks{
			BestRank: 1, BestRankAt: at("2026-11-19T20:00:00Z"), DaysInTop10: 6,
			Climb: &wire.RankClimb{
				Began: at("2026-11-17T08:00:00Z"), Ended: at("2026-11-17T09:00:00Z"), Ranks: 212,
			},
			Since: at("2026-10-30T07:00:00Z"), Samples: "hourly",
		},
	},
	wire.Timeline{
		Board: "global", Start: at("2026-11-21T10:00:00Z"), End: at("2026-11-21T12:00:00Z"), StepMS: 60_000,
		Frames: []wire.TimelineFrame{
			{At: at("2026-11-21T10:00:00Z"), Total: 11_950, Entries: exampleEntries[1:]},
			{At: at("2026-11-21T10:07:00Z"), Total: 11_952, Entries: exampleEntries},
		},
		NextFrom: new(at("2026-11-21T11:00:00Z")),
	},
	wire.RankExplanation{
		Board: "global", UserID: "ada", Score: 125, Rank: 1, Total: 12_000,
		ReachedAt: at("2026-11-21T12:00:00.123456Z"), AsOf: at("2026-11-21T12:00:00.2Z"),
		Below: &wire.RankNeighbour{
			Entry: exampleEntries[1], Difference: 5, ReachedAt: at("2026-11-21T11:59:00Z"),
		},
		Tie: wire.RankTie{
			Users: 1, First: "ada", FirstAt: new(at("2026-11-21T12:00:00.123456Z")),
		},
		Sources: wire.ScoreSources{Submitted: 125}, Events: 1,
		Latest: []wire.StatementEntry{{
			EventID: exampleEvent, Board: "global", Delta: 125, PreviousScore: new(int64(0)), NewScore: 125, Version: 1,
			RecordedAt: at("2026-11-21T12:00:00.123456Z"), KeyID: exampleKey, Address: "192.0.2.17",
			UserAgent: "game-server/2.1",
		}},
		Ranking: &wire.RankingAnswer{Score: 125, Rank: 1, AsOf: at("2026-11-21T12:00:00.25Z"), Agrees: true},
	},
	wire.Users{Board: "global", UserIDs: []string{"ada", "bob", "nobody"}},
	wire.List{
		Board: "global", Entries: []wire.ListEntry{
			{ListRank: 1, Entry: exampleEntries[0]}, {ListRank: 2, Entry: exampleEntries[1]},
		},
		NotFound: []string{"nobody"}, Total: 12_000, Version: new(int64(4211)), Epoch: new(int64(7)),
		AsOf: at("2026-11-21T12:00:00.2Z"), AgeMS: 180, BoardState: "HEALTHY",
	},
	wire.Statement{Entries: []wire.StatementEntry{{
		EventID: exampleEvent, Board: "global", Delta: 25, PreviousScore: new(int64(100)), NewScore: 125, Version: 5,
		RecordedAt: at("2026-11-21T12:00:00.123456Z"), KeyID: exampleKey, Address: "192.0.2.17",
		UserAgent: "game-server/2.1",
	}}},
	wire.ProfileRequest{DisplayName: "Ada", AvatarURL: "https://images.example.com/ada.png"},
	wire.Profile{
		UserID: "ada", DisplayName: "Ada", AvatarURL: "https://images.example.com/ada.png",
		UpdatedAt: at("2026-11-21T11:58:00Z"),
	},
	wire.Friends{Friends: []wire.Friend{
		{UserID: "bob", State: "mutual", Since: new(at("2026-11-20T18:00:00Z"))},
	}},
	wire.LeaguePlace{
		League: "stars", Board: "stars:2026-w47", UserID: "ada", Division: 2, Divisions: 5, State: "placed",
		Cohort: 4711, Rank: 1, Score: new(int64(120)), Players: 50, Zone: "promotion", Neighbours: exampleEntries,
		EndsAt: at("2026-11-23T00:00:00Z"), SecondsLeft: 129_600,
	},
	wire.Cohort{
		League: "stars", Board: "stars:2026-w47", Cohort: 4711, Division: 2, Entries: exampleEntries, Players: 50,
		Promote: 10, Relegate: 5, AsOf: at("2026-11-21T12:00:00.2Z"), AgeMS: 180, NextAfter: 2,
	},
	wire.Cohorts{League: "stars", Board: "stars:2026-w47", Divisions: 5, NextAfter: 4711, Cohorts: []wire.CohortFill{
		{Cohort: 4711, Division: 2, Players: 34, Size: 50, Promote: 10, Relegate: 5},
	}},
	exampleOutcome,
	wire.LeagueRecomputeRequest{Apply: true, Reason: "a void of a bot farm"},
	wire.LeagueRecomputed{Board: "stars:2026-w46", Applied: true, Players: []wire.LeagueCorrection{
		{UserID: "ada", Cohort: 4711, Division: 1, RankBefore: 11, Rank: 10, Players: 49, Move: 1},
	}},
	wire.LeagueHistory{Outcomes: []wire.LeagueOutcome{exampleOutcome}},
	exampleRewards,
	wire.RewardTableRequest{Bands: exampleRewards.Bands, Expires: "720h"},
	exampleReward,
	wire.Rewards{Rewards: []wire.Reward{exampleReward}},
	wire.BoardRewards{Rewards: []wire.Reward{exampleReward}},
	wire.RewardRequest{
		UserID: "ada", Board: "weekly:2026-w47", Reward: json.RawMessage(`{"gems":500}`),
		Reason: "her game had crashed",
	},
	wire.Participation{
		Board: "cup:spring", StartsAt: at("2026-11-28T18:00:00Z"), EndsAt: at("2026-12-05T18:00:00Z"),
		Players: 12, MaxPlayers: 64, UserID: "ada", Joined: true, JoinedAt: new(at("2026-11-21T12:00:00Z")),
	},
	wire.Players{Players: []wire.Player{{UserID: "ada", JoinedAt: at("2026-11-21T12:00:00Z")}}},
	wire.Friend{UserID: "bob", State: "mutual", Since: new(at("2026-11-20T18:00:00Z"))},
	wire.PrivacyRequest{Visibility: "friends"},
	wire.Privacy{UserID: "ada", Visibility: "friends", ChangedAt: new(at("2026-11-20T18:00:00Z"))},
	wire.FriendPairs{Pairs: []wire.FriendPair{{UserID: "ada", FriendID: "bob"}}},
	wire.FriendsImported{Pairs: 1, Added: 1},
	wire.Teams{Teams: []wire.Team{
		{Team: "ants", UserID: "team:ants", Members: 2, CreatedAt: at("2026-11-20T18:00:00Z")},
	}},
	wire.TeamMembers{Members: []wire.TeamMember{exampleMember}},
	exampleMember,
	wire.JoinTicket{Token: "eyJhbGciOiJFZERTQSJ9.eyJzdWIiOiJhZGEifQ.c2ln", ExpiresAt: at("2026-11-21T12:00:30Z")},
	wire.Message{
		Type: wire.MessageUpdated, Board: "global", Version: 4211, Epoch: 7, TS: at("2026-11-21T12:00:00.2Z"),
		Top: exampleEntries,
	},
	wire.BoardRequest{
		Board: "daily", Region: "eu", Period: "daily", TimeZone: "Europe/Berlin",
		Title: "Today in the arena", Color: "#7a3fc4",
	},
	wire.BoardRuleRequest{Regions: []string{"eu"}, Attributes: map[string][]string{"platform": {"pc", "mac"}}},
	exampleRule,
	wire.BoardRules{Rules: []wire.BoardRule{exampleRule}},
	wire.BoardChange{
		Require: new([]string{wire.RequireActionToken}), ActionMin: new("30s"), ActionTTL: new("10m"),
	},
	exampleBoard,
	wire.Boards{Boards: []wire.Board{exampleBoard, board(global)}},
	wire.RollRequest{DryRun: true},
	wire.Rolled{
		Created: []string{"daily:2026-11-22"}, Ended: []wire.EndedBoard{
			{Board: "daily:2026-11-21", PeriodEnd: at("2026-11-21T23:00:00Z"), Users: 8120},
		},
		DryRun: true,
	},
	wire.FinalStandings{
		Board: "daily:2026-11-20", ClosedAt: at("2026-11-20T23:00:02Z"), Users: 2, StandingsHash: exampleHash,
		StandingsVersion: 2,
		Entries: []wire.FinalEntry{
			{
				Rank: 1, UserID: "ada", Score: 310, ReachedAt: at("2026-11-20T19:30:00Z"), Leaf: exampleHash,
				Salt: "5a0f3c9d1e7b4826a1c4f0d2b3e69578",
			},
			{
				Rank: 2, UserID: "~k3vq7m2xh5bwc6ta", Score: 250, ReachedAt: at("2026-11-20T20:10:00Z"),
				Leaf: exampleHash,
			},
		},
	},
	wire.KeyRequest{Name: "game-server", Boards: []string{"daily", "global"}, PerMinute: 600},
	wire.RotateRequest{Overlap: "1h"},
	exampleKeyShown,
	wire.Keys{Keys: []wire.Key{exampleKeyShown}},
	wire.MasterKeyRotation{Encrypted: 3, Unchanged: 1, Unreadable: []string{}},
	wire.WebhookRequest{
		URL: "https://example.com/hooks", Types: []string{"season.closed", "rank.reached"}, Boards: []string{"daily"},
		Top: 10,
	},
	exampleWebhook,
	wire.Webhooks{Webhooks: []wire.Webhook{exampleWebhook}},
	exampleDelivery,
	wire.WebhookDeliveries{Deliveries: []wire.WebhookDelivery{exampleDelivery}},
	exampleJob,
	wire.Jobs{Jobs: []wire.Job{exampleJob}},
	wire.FoundUsers{Users: []wire.FoundUser{{UserID: "ada", DisplayName: "Ada Lovelace", Status: "active"}}},
	wire.TokenRequest{UserID: "ada", Scope: "score:update", TTL: "1h"},
	wire.Token{Token: "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhZGEifQ.c2ln", ExpiresAt: at("2026-11-21T13:00:00Z")},
	wire.AuditEntries{Entries: []wire.AuditEntry{{
		ID: 12, At: at("2026-11-21T12:05:00Z"), Who: "operator", Address: "192.0.2.4", UserAgent: "sbctl/1.0",
		RequestID: "0193a5b2-6f3a-7c41-8d12-5a0f9b1c2d3e", Action: "user.ban", Target: "user:mallory",
		Reason: exampleReason, Detail: json.RawMessage(`{"status":"banned"}`),
	}}},
	wire.AuditChain{Intact: true, Sealed: 12, Head: "12:" + exampleHash},
	wire.User{
		UserID: "ada", Status: "active", CreatedAt: at("2026-11-01T08:15:00Z"), Scores: []wire.UserScore{
			{Board: "global", Score: 125, Version: 5, ReachedAt: at("2026-11-21T12:00:00.123456Z")},
		},
	},
	wire.ReasonRequest{Reason: exampleReason},
	wire.UserState{UserID: "ada", Status: "active", Changed: true},
	wire.AdjustRequest{Board: "global", Delta: -25, EventID: "ticket-4711", Reason: "counted by mistake"},
	wire.ReverseRequest{UserID: "ada", Reason: "counted by mistake"},
	wire.Erased{Anonymous: "erased-7xq2m5r4w6tbdk3hznpc5yaf2e", Rows: 240},
	exampleSetting,
	wire.Settings{Settings: []wire.Setting{exampleSetting}},
	wire.SettingRequest{Value: new("100"), Reason: "show the whole board"},
	wire.SettingsRequest{
		Settings: []wire.SettingChange{
			{Name: "reads.top_n", Value: new("100")}, {Name: "reads.user_cache", Reset: true},
		},
		Reason: "show the whole board",
	},
	exampleFlag,
	wire.Flags{Flags: []wire.Flag{exampleFlag}},
	wire.VoidRequest{
		KeyID: exampleKey, From: at("2026-11-21T10:00:00Z"), To: at("2026-11-21T11:00:00Z"),
		Reason: "leaked key, ticket 4711",
	},
	wire.VoidPreview{
		Events: 1602, Users: 210, Boards: []wire.VoidedBoard{
			{Board: "global", Events: 1602, Users: 210, Applied: 40_050},
		},
	},
	wire.WhatIfRequest{
		Board: "global", Since: at("2026-11-20T00:00:00Z"),
		Rules: wire.WhatIfRules{MaxDelta: new(int64(500)), Cooldown: "5s"},
	},
	exampleVoid,
	wire.Voids{Voids: []wire.Void{exampleVoid}},
	wire.Checks{Version: "v1.2.3", Checks: []wire.Check{
		{Name: "postgresql", Status: wire.CheckOK, Detail: "answers in 1ms"},
		{
			Name: "disk", Status: wire.CheckWarn, Detail: "8% free",
			NextStep: "free space, or archive old ledger partitions", Page: "capacity",
		},
	}},
	wire.Status{
		Roles: []string{"api", "relay", "projector", "gateway", "maintenance"}, UptimeSeconds: 86_400, WindowMS: 2000,
		IncrementsPerSecond: new(412.5), LatencyP95MS: new(6.2), OutboxDepth: new(int64(3)),
		OutboxOldestAgeMS: new(int64(12)), ConsumerLag: map[string]int64{"scoreboard.events.v1": 3},
		Parity:      &wire.Parity{Checked: 12_000, Percent: 100},
		Connections: map[string]int64{"ws": 180, "sse": 20}, Board: &exampleRanking,
	},
	wire.Outbox{
		Shards: []wire.OutboxShard{{
			Owner: "node-1", Generation: 4, LeaseLeftMS: 8200, CursorXID: 918_273, CursorID: 4_400_120, Depth: 3,
			OldestAgeMS: 12,
		}},
		HorizonAgeMS: 4, Partitions: []string{"outbox_score_updates_202611211200"},
	},
	exampleLetter,
	wire.DeadLetters{Letters: []wire.DeadLetter{exampleLetter}},
	exampleRanking,
	wire.JobRequest{Board: "global"},
	wire.ReplayRequest{FromTime: new(at("2026-11-21T11:00:00Z")), DryRun: true},
	wire.ArchiveRequest{DryRun: true},
	wire.CheckpointRequest{Board: "global", At: at("2026-02-01T00:00:00Z")},
	wire.FrontPage{
		Name: "scoreboard", Description: "A real-time leaderboard that counts every event exactly once.",
		Links: []wire.Link{{Path: docsPath, Description: "The documentation, as pages."}},
	},
	map[string]any{"openapi": "3.1.0", "info": object{"title": "scoreboard", "version": "1"}, "paths": object{}},
}

// exampleOfRoute has bodies that differ from those of their type.
var exampleOfRoute = map[string]any{
	"GET " + asyncAPIPath: map[string]any{
		"asyncapi": "3.0.0", "info": object{"title": "scoreboard streams and webhooks", "version": "1"},
		"channels": object{}, "operations": object{},
	},
	"GET /v1/boards/:board": board(global),
	"PATCH /v1/boards/:board": board(func(b *wire.Board) {
		global(b)
		b.Require, b.ActionMin, b.ActionTTL = []string{wire.RequireActionToken}, "30s", "10m0s"
	}),
	"DELETE /v1/admin/board-rules/:board": board(global),
	"POST /v1/boards": board(func(b *wire.Board) {
		b.Board, b.Family, b.PeriodStart, b.PeriodEnd, b.Current = "daily", "", nil, nil, "daily:2026-11-21"
	}),
	"POST /v1/boards/:board/freeze": board(func(b *wire.Board) { global(b); b.Status = "frozen" }),
	"POST /v1/boards/:board/archive": board(func(b *wire.Board) {
		b.Board, b.Status, b.StandingsHash = "daily:2026-11-20", "archived", exampleHash
		b.PeriodStart, b.PeriodEnd = new(at("2026-11-19T23:00:00Z")), new(at("2026-11-20T23:00:00Z"))
		b.CreatedAt, b.ClosedAt = at("2026-11-19T22:00:00Z"), new(at("2026-11-20T23:00:02Z"))
	}),
	"POST /v1/boards/:board/unfreeze": board(global),
	"POST /v1/admin/keys": key(func(k *wire.Key) {
		k.Secret = exampleSecret
	}),
	"POST /v1/admin/keys/:key_id/rotate": key(func(k *wire.Key) {
		k.Secret, k.Generation, k.RetiresAt = "sk_test_fedcba9876543210", 2, new(at("2026-11-21T13:00:00Z"))
	}),
	"POST /v1/admin/webhooks": webhook(func(w *wire.Webhook) {
		w.Secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	}),
	"POST /v1/admin/webhooks/:webhook_id/rotate": webhook(func(w *wire.Webhook) {
		w.Secret, w.Generation = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", 2
		w.RetiresAt = new(at("2026-11-21T13:00:00Z"))
	}),
	"POST /v1/admin/webhooks/:webhook_id/test": delivery(func(d *wire.WebhookDelivery) {
		d.Type = "webhook.test"
		d.Payload = json.RawMessage(`{"type":"webhook.test","timestamp":"2026-11-21T12:00:00.3Z","data":{}}`)
	}),
	"POST /v1/admin/webhooks/:webhook_id/deliveries/:id/retry": delivery(func(*wire.WebhookDelivery) {}),
	"DELETE /v1/admin/keys/:key_id": key(func(k *wire.Key) {
		k.RevokedAt = new(at("2026-11-21T12:00:00Z"))
	}),
	"POST /v1/admin/users/:user_id/ban":    wire.UserState{UserID: "ada", Status: "banned", Changed: true},
	"POST /v1/admin/users/:user_id/freeze": wire.UserState{UserID: "ada", Status: "frozen", Changed: true},
	"POST /v1/admin/users/:user_id/adjust": wire.Receipt{
		UserID: "ada", Board: "global", NewScore: 100, PreviousScore: new(int64(125)), Rank: new(int64(1)), Version: 6,
		ProcessedEventID: "ticket-4711", Applied: -25, RecordedAt: at("2026-11-21T12:30:00Z"),
		Status: wire.StatusDone,
	},
	"PUT /v1/admin/settings/:name": wire.Setting{
		Name: "reads.top_n", Value: "100", Source: "store", Meaning: "rows in a message of a stream: 10 or 100",
		Live:    true,
		Version: 3, ChangedAt: new(at("2026-11-21T12:00:00Z")), ChangedBy: "operator",
	},
	"POST /v1/admin/flags/:id/dismiss":        flagged(func(f *wire.Flag) { f.State = "dismissed" }),
	"POST /v1/admin/flags/:id/confirm":        flagged(func(f *wire.Flag) { f.State = "confirmed" }),
	"GET /v1/admin/dead-letters/:id":          letter(`{"schema":1,"board":"?"}`),
	"POST /v1/admin/dead-letters/:id/requeue": letter(`{"schema":1,"board":"?"}`),
	"DELETE /v1/admin/dead-letters/:id":       letter(`{"schema":1,"board":"?"}`),
}

// exampleJobs are the last lines of jobs.
var exampleJobs = map[string]any{
	"POST /v1/admin/rebuild": wire.JobLine{Type: "result", Rebuilt: []wire.Rebuilt{
		{Board: "global", Epoch: 8, Users: 12_000, TookMS: 940},
	}},
	"POST /v1/admin/verify":    wire.JobLine{Type: "result", Verified: &exampleVerified},
	"POST /v1/admin/reconcile": wire.JobLine{Type: "result", Verified: &exampleVerified},
	"POST /v1/admin/replay": wire.JobLine{Type: "result", Replayed: &wire.Replayed{
		Topic: "scoreboard.events.v1", DryRun: true, Records: 48_000, Unchanged: 48_000, TookMS: 610,
	}},
	"POST /v1/admin/what-if": wire.JobLine{Type: "result", WhatIf: &wire.WhatIf{
		Board: "global", Since: at("2026-11-20T00:00:00Z"), AsOf: at("2026-11-21T12:00:00Z"),
		Users: 12_000, Evaluated: 48_000, Rejected: 1, RejectedBy: map[string]int64{"max_delta": 1},
		RejectedUsers: 1, Up: 1, Down: 1, Changed: 2,
		Changes: []wire.WhatIfChange{
			{
				UserID: "mallory", Rank: 1, NewRank: 2, Score: 1020, NewScore: new(int64(20)), Rejected: 1,
				Events: []wire.WhatIfEvent{{
					EventID: "0193a5b2-6f3a-7c41-8d12-5a0f9b1c2d3e", Delta: 1000,
					RecordedAt: at("2026-11-21T11:00:00Z"), Rule: "max_delta",
				}},
			},
			{UserID: "ada", Rank: 2, NewRank: 1, Score: 125, NewScore: new(int64(125))},
		},
		Digest: exampleHash, Limits: []string{},
	}},
	"POST /v1/admin/ledger/archive": wire.JobLine{Type: "result", Archived: &wire.Archived{
		Partitions: []wire.ArchivedPartition{{
			Partition: "user_score_histories_p202608", From: at("2026-08-01T00:00:00Z"), To: at("2026-09-01T00:00:00Z"),
		}},
		DryRun: true, TookMS: 3,
	}},
	"POST /v1/admin/ledger/checkpoint": wire.JobLine{Type: "result", Checkpoint: &wire.KeptCheckpoint{
		Board: "global", At: at("2026-02-01T00:00:00Z"), Users: 12_000, Events: 480_000,
		KeptUntil: at("2026-11-28T12:00:00Z"),
	}},
}

var exampleExport = named{
	"line1": wire.ExportLine{
		Kind: "user", Row: json.RawMessage(`{"user_id":"ada","status":"active","created_at":"2026-11-01T08:15:00Z"}`),
	},
	"line2": wire.ExportLine{Kind: "end", Rows: 1},
}

var exampleBoardExport = named{
	"line1": wire.ExportLine{
		Kind: "standing",
		Row:  json.RawMessage(`{"rank":1,"user_id":"ada","score":120,"reached_at":"2026-11-01T08:15:00Z"}`),
	},
	"line2": wire.ExportLine{Kind: "end", Rows: 1},
}

// exampleMedia has texts that are no JSON.
var exampleMedia = map[media]string{"text/html": "<!DOCTYPE html>\n<html lang=\"en\">\n…"}

// exampleErrors has an error of each code.
var exampleErrors = map[wire.Code]wire.Error{
	wire.CodeInvalidRequest: {Message: "limit must be from 1 to 100", Field: "limit"},
	wire.CodeUnauthorized:   {Message: "the token has expired"},
	wire.CodeInvalidSignature: {
		Message: "the signature does not match", EventID: exampleEvent,
	},
	wire.CodeForbidden:        {Message: "requires the scope score:admin"},
	wire.CodeNotFound:         {Message: "no such board: arena"},
	wire.CodeMethodNotAllowed: {Message: "this route does not accept DELETE"},
	wire.CodeEventConflict: {
		Message: "the event id was used with another payload", EventID: exampleEvent,
	},
	wire.CodeBoardClosed: {Message: "board daily:2026-11-20 is frozen", EventID: exampleEvent},
	wire.CodeAttemptsUsed: {
		Message: "all attempts on board daily:2026-11-21 are used: 3 of 3; the next period begins at " +
			"2026-11-22T00:00:00Z",
		EventID: exampleEvent, NextReset: &exampleMidnight,
	},
	wire.CodePeriodEnded: {
		Message: "period daily:2026-11-20 is not current; that is daily:2026-11-21", EventID: exampleEvent,
		Field: "if_period",
	},
	wire.CodeNotJoined:            {Message: "user ada has not joined cup:spring", EventID: exampleEvent},
	wire.CodeJoinClosed:           {Message: "cup:spring has begun, and its board allows no late joins"},
	wire.CodeTournamentFull:       {Message: "cup:spring is full: it takes 64 players"},
	wire.CodeTokenUsed:            {Message: "the action token was used before", EventID: exampleEvent},
	wire.CodeConflict:             {Message: "board daily exists"},
	wire.CodeGone:                 {Message: "the cursor is of a period that has ended", Field: "cursor"},
	wire.CodePayloadTooLarge:      {Message: "the body is larger than 4096 bytes"},
	wire.CodeUnsupportedMediaType: {Message: "the body must be application/json"},
	wire.CodeDeltaOutOfRange: {
		Message: "delta is outside the bounds of the board, 1 to 1000000", EventID: exampleEvent, Field: "delta",
		Reason: "board_bounds",
	},
	wire.CodeScoreOutOfRange: {Message: "the score would exceed 1000", EventID: exampleEvent},
	wire.CodeRuleViolated:    {Message: "at most 3 kill events in 1m0s", EventID: exampleEvent},
	wire.CodeRateLimited:     {Message: "too many requests; wait 2 s"},
	wire.CodeOverloaded:      {Message: "the queue is full; try again"},
	wire.CodeUnavailable:     {Message: "PostgreSQL does not answer; try again"},
	wire.CodeInternal:        {Message: internalMessage},
}

func exampleError(code wire.Code) wire.Error {
	e := exampleErrors[code]
	e.ErrorCode, e.RequestID = string(code), "0193a5b2-6f3a-7c41-8d12-5a0f9b1c2d3e"
	return e
}
