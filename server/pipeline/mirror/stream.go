package mirror

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/scoreboard/scoreboard/server/protocol"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// StreamOptions are the settings of a Stream.
type StreamOptions struct {
	Key    string
	Length int64 // entries that are kept, approximately
	// Retention is how long an entry stays, as its user's id does.
	Retention time.Duration
	// Remember is how long a user's version is kept: longer than a transport keeps the
	// records that could repeat it.
	Remember time.Duration
}

// EventNames returns the ids of the changes' events as their clients sent them.
type EventNames interface {
	EventTexts(ctx context.Context, changes []scoreboard.Change) ([]string, error)
}

// Stream is a Redis stream in the format of specification C. Its entries have no versions,
// so each user's last one is kept beside it.
type Stream struct {
	o     StreamOptions
	rdb   redis.UniversalClient
	names EventNames
	log   *slog.Logger
}

// NewStream uses rdb, which the caller closes. Run trims the stream by age.
func NewStream(o StreamOptions, rdb redis.UniversalClient, names EventNames, log *slog.Logger) *Stream {
	return &Stream{o, rdb, names, log}
}

// versionKey holds the revision of the last entry of a user, in the slot of the stream.
func (s *Stream) versionKey(user scoreboard.UserID) string {
	tag := s.o.Key
	if _, rest, ok := strings.Cut(tag, "{"); ok {
		if inner, _, ok := strings.Cut(rest, "}"); ok && inner != "" {
			tag = inner
		}
	}
	return "sb:mirror:{" + tag + "}:" + s.o.Key + ":" + string(user)
}

// add adds the changes that are newer than the last entry of their user. Keys are the
// stream and each user's version; arguments are the length, the milliseconds to keep a
// version, and for each change its revision and the values of its entry.
var add = redis.NewScript(`
for i = 2, #KEYS do
    local at = 5 * (i - 2) + 3
    local last = redis.call('GET', KEYS[i])
    if not last or tonumber(last) < tonumber(ARGV[at]) then
        redis.call('XADD', KEYS[1], 'MAXLEN', '~', ARGV[1], '*', 'userId', ARGV[at + 1], 'newScore', ARGV[at + 2],
            'actionId', ARGV[at + 3], 'timestamp', ARGV[at + 4])
        redis.call('SET', KEYS[i], ARGV[at], 'PX', ARGV[2])
    end
end
return 0`)

// scriptSize bounds how long one script keeps Redis from other work.
const scriptSize = 100

// Write implements Sink. What a lost answer left in doubt is not added again.
func (s *Stream) Write(ctx context.Context, changes []scoreboard.Change) (int, error) {
	names, err := s.names.EventTexts(ctx, changes)
	if err != nil {
		return 0, fmt.Errorf("look up the ids of %d events: %w", len(changes), err)
	}
	for from := 0; from < len(changes); from += scriptSize {
		part := changes[from:min(from+scriptSize, len(changes))]
		keys := make([]string, 1, 1+len(part))
		args := make([]any, 2, 2+5*len(part))
		keys[0], args[0], args[1] = s.o.Key, s.o.Length, s.o.Remember.Milliseconds()
		for i := range part {
			c := &part[i]
			keys = append(keys, s.versionKey(c.User))
			args = append(args, c.Revision, string(c.User), strconv.FormatInt(int64(c.Score), 10), names[from+i],
				protocol.FormatTime(c.RecordedAt))
		}
		if err := add.Run(ctx, s.rdb, keys, args...).Err(); err != nil {
			return from, fmt.Errorf("add %d entries to %s: %w", len(part), s.o.Key, err)
		}
	}
	return len(changes), nil
}

// trimInterval is the time between two removals of old entries.
const trimInterval = time.Minute

// Run removes entries that are older than the retention, until ctx ends.
func (s *Stream) Run(ctx context.Context) error {
	tick := time.NewTicker(trimInterval)
	defer tick.Stop()
	for {
		if err := s.trim(ctx); err != nil && ctx.Err() == nil {
			s.log.Warn("old entries not removed; the next try is in a minute", "stream", s.o.Key, "err", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

func (s *Stream) trim(ctx context.Context) error {
	now, err := s.rdb.Time(ctx).Result() // ids are of this clock
	if err != nil {
		return fmt.Errorf("read the clock of Redis: %w", err)
	}
	oldest := strconv.FormatInt(now.Add(-s.o.Retention).UnixMilli(), 10)
	if err := s.rdb.XTrimMinID(ctx, s.o.Key, oldest).Err(); err != nil {
		return fmt.Errorf("trim %s: %w", s.o.Key, err)
	}
	return nil
}
