package config

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// Mirror is what the role mirror writes for consumers of other specifications. A feed
// without a name is not written.
type Mirror struct {
	PlainTopic       string
	HighscoreTopic   string
	DeltaStream      string
	DeltaLength      int
	CloudEventsTopic string
	Partitions       int
	Retention        time.Duration
	Group            string
}

// The feeds of the role mirror.
const (
	FeedPlain       = "plain"
	FeedHighscore   = "highscore"
	FeedDelta       = "delta"
	FeedCloudEvents = "cloudevents"
)

var feeds = []string{FeedPlain, FeedHighscore, FeedDelta, FeedCloudEvents}

// Name returns the topic or stream of a feed; "" if it is not written.
func (m *Mirror) Name(feed string) string {
	return map[string]string{
		FeedPlain: m.PlainTopic, FeedHighscore: m.HighscoreTopic, FeedDelta: m.DeltaStream,
		FeedCloudEvents: m.CloudEventsTopic,
	}[feed]
}

// FeedGroup returns the consumer group of a feed. Each has its own, so that one whose
// backend is away does not delay the others.
func (m *Mirror) FeedGroup(feed string) string { return m.Group + "-" + feed }

// MirrorFeeds lists the feeds that this process writes.
func (c *Config) MirrorFeeds() (names []string) {
	if !c.Has(RoleMirror) {
		return nil
	}
	for _, feed := range feeds {
		if c.Mirror.Name(feed) != "" {
			names = append(names, feed)
		}
	}
	return names
}

// mirrorsToKafka reports whether this process writes a feed to Kafka.
func (c *Config) mirrorsToKafka() bool {
	return slices.ContainsFunc(c.MirrorFeeds(), func(feed string) bool { return feed != FeedDelta })
}

func (m *Mirror) settings() []setting {
	return []setting{
		{
			"mirror.plain.topic", "topic of the role mirror with the scores of the board dialect.plain.board; none " +
				"if empty",
			"score-events", fixed, &m.PlainTopic,
		},
		{
			"mirror.highscore.topic",
			"topic of the role mirror with the scores of the board dialect.highscore.board, such as " +
				"score_updates; none if empty",
			"", fixed, &m.HighscoreTopic,
		},
		{
			"mirror.delta.stream", "Redis stream of the role mirror with the scores of the board dialect.delta.board" +
				"; none if empty",
			"leaderboard:stream", fixed, &m.DeltaStream,
		},
		{
			"mirror.delta.length", "number of entries that mirror.delta.stream keeps, approximately",
			"100000", fixed, &m.DeltaLength,
		},
		{
			"mirror.cloudevents.topic", "topic of the role mirror with every change of every board, as CloudEvents; " +
				"none if empty",
			"scoreboard.cloudevents.v1", fixed, &m.CloudEventsTopic,
		},
		{"mirror.partitions", "partitions of the topics of the role mirror", "6", fixed, &m.Partitions},
		{
			"mirror.retention", "how long the topics and the stream of the role mirror keep entries", "24h", fixed,
			&m.Retention,
		},
		{
			"mirror.group", "consumer groups of the role mirror: this, a hyphen, and plain, highscore, delta or " +
				"cloudevents",
			"scoreboard-mirror", fixed, &m.Group,
		},
	}
}

func (m *Mirror) check(p *problems) {
	p.atLeast("mirror.delta.length", m.DeltaLength, 1)
	p.atLeast("mirror.partitions", m.Partitions, 1)
	p.positive("mirror.retention", m.Retention)
}

// use is a setting that names a topic, group or stream.
type use struct{ setting, name string }

// checkNames rejects a topic, group or stream that is used twice. What the role mirror
// uses counts in processes that have it.
func (c *Config) checkNames(p *problems) {
	k, m := &c.Kafka, &c.Mirror
	topics := []use{
		{"kafka.dead_topic", k.DeadTopic},
		{"kafka.increments_dead_topic", k.IncrementsDeadTopic},
		{"kafka.increments_topic", k.IncrementsTopic},
		{"kafka.notices_topic", k.NoticesTopic},
		{"kafka.seasons_topic", k.SeasonsTopic},
		{"kafka.topic", k.Topic},
	}
	groups := []use{{"kafka.group", k.Group}, {"kafka.intake_group", k.IntakeGroup}}
	// Without Kafka, the ends of periods and the dead letters of the intake are streams with
	// the names of their topics.
	streams := []use{
		{"kafka.increments_dead_topic", k.IncrementsDeadTopic},
		{"kafka.seasons_topic", k.SeasonsTopic},
		{"streams.increments", c.Streams.Increments},
		{"streams.name", c.Streams.Name},
	}
	for _, feed := range c.MirrorFeeds() {
		groups = append(groups, use{"mirror.group", m.FeedGroup(feed)})
		switch feed {
		case FeedDelta:
			streams = append(streams, use{"mirror.delta.stream", m.DeltaStream})
		default:
			topics = append(topics, use{"mirror." + feed + ".topic", m.Name(feed)})
		}
	}
	p.distinct("topic", topics)
	p.distinct("consumer group", groups)
	p.distinct("stream", streams)
	if c.Has(RoleMirror) {
		c.checkMirror(p)
	}
}

// checkMirror rejects what the role mirror cannot do.
func (c *Config) checkMirror(p *problems) {
	if len(c.MirrorFeeds()) == 0 {
		p.add("roles", "must not name mirror without mirror.plain.topic, mirror.delta.stream or "+
			"mirror.cloudevents.topic")
	}
	// The keys of the server's own streams are {name}:0 and so on, those of everything else
	// begin with sb: or {sb.
	taken := []string{"sb:"}
	for _, name := range []string{
		c.Streams.Name, c.Streams.Increments, c.Kafka.SeasonsTopic, c.Kafka.IncrementsDeadTopic,
	} {
		taken = append(taken, "{"+name+"}:", "{"+name+":")
	}
	for _, prefix := range taken {
		if strings.HasPrefix(c.Mirror.DeltaStream, prefix) {
			p.add("mirror.delta.stream", "must not begin with %s, as the server's own keys do", prefix)
		}
	}
}

// distinct rejects a name that is empty or used twice.
func (p *problems) distinct(kind string, uses []use) {
	slices.SortFunc(uses, func(a, b use) int { return cmp.Compare(a.setting, b.setting) })
	users := make(map[string]string)
	for _, u := range uses {
		other, used := users[u.name]
		switch {
		case u.name == "":
			p.add(u.setting, "must not be empty")
		case used:
			p.add(other, "and %s must not name the same %s %s", u.setting, kind, u.name)
		default:
			users[u.name] = u.setting
		}
	}
}
