package sources

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Podium reads the boards of Podium: each is a sorted set of Redis under the name of the
// board. NAME:ttl is a sorted set of the times at which scores expire, and expiration-sets
// the set of those. Redis knows neither mode nor order: clients choose the order at each
// read.
type Podium struct {
	db    *redis.Client
	order scoreboard.Order
}

// OpenPodium does not connect yet. The boards are ranked in an order.
func OpenPodium(url string, order scoreboard.Order) (*Podium, error) {
	o, err := redis.ParseURL(url)
	if err != nil {
		return nil, errors.New("the Redis URL is invalid: want redis://USER:PASSWORD@HOST:PORT/DATABASE")
	}
	o.DialTimeout = cmp.Or(o.DialTimeout, connectTimeout)
	dial := redis.NewDialer(o)
	o.Dialer = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &boundedConn{Conn: conn}, nil
	}
	return &Podium{redis.NewClient(o), order}, nil
}

// Close closes the connections.
func (p *Podium) Close() error { return p.db.Close() }

const (
	ttlSuffix = ":ttl"
	scanCount = 1_000
)

// season is how the name of a board ends that expires.
var season = regexp.MustCompile(`(from\d{8,10}to\d{8,10}|year\d{4}((week|quarter|month)\d+)?)$`)

// Boards lists the boards; with names only those.
func (p *Podium) Boards(ctx context.Context, names []string) ([]Board, error) {
	if len(names) == 0 {
		var err error
		if names, err = p.names(ctx); err != nil {
			return nil, fmt.Errorf("list the boards of Podium: %w", err)
		}
	}
	boards := make([]Board, 0, len(names))
	for _, name := range names {
		records, err := p.db.ZCard(ctx, name).Result()
		if err != nil {
			return nil, fmt.Errorf("count the members of %s: %w", name, err)
		}
		if records == 0 {
			return nil, fmt.Errorf("board %s of Podium not found", name)
		}
		b := Board{
			ID: name, Mode: scoreboard.ModeIncrement, Order: p.order, Period: scoreboard.PeriodNone, Records: records,
		}
		expiring, err := p.db.ZCard(ctx, name+ttlSuffix).Result()
		if err != nil {
			return nil, fmt.Errorf("count the expiring scores of %s: %w", name, err)
		}
		if expiring > 0 {
			b.Lost = append(b.Lost, fmt.Sprintf("the expiry of %d scores", expiring))
		}
		if season.MatchString(name) {
			b.Lost = append(b.Lost, "the expiry of the board")
		}
		boards = append(boards, b)
	}
	return boards, nil
}

func (p *Podium) names(ctx context.Context) (names []string, err error) {
	seen := make(map[string]bool) // a scan may return a key twice
	cursor := uint64(0)
	for range maxScanPages {
		var keys []string
		if keys, cursor, err = p.db.ScanType(ctx, cursor, "", scanCount, "zset").Result(); err != nil {
			return nil, err
		}
		for _, name := range keys {
			if strings.HasSuffix(name, ttlSuffix) || seen[name] {
				continue
			}
			if len(names) == maxBoards {
				return nil, fmt.Errorf("more than %d sorted sets; name the boards", maxBoards)
			}
			seen[name] = true
			names = append(names, name)
		}
		if cursor == 0 {
			return names, nil
		}
	}
	return nil, fmt.Errorf("the scan of the keys has not ended after %d pages", maxScanPages)
}

// maxScanPages bounds a scan of the keys that does not end; of a Redis with as many keys, name the boards.
const maxScanPages = 1_000_000

// pageSize is about how many members are read at once, so that Redis answers others in
// between.
const pageSize = 5_000

// maxIdlePages bounds a scan that does not end.
const maxIdlePages = 1_000

// Records reads a board, best first. It reads by ZSCAN: in pages by rank, a member that
// rises into a page that was read would be missed. Each score was the member's at some
// moment of the reading.
func (p *Podium) Records(ctx context.Context, b *Board) ([]scoreboard.ImportRecord, error) {
	records := make([]scoreboard.ImportRecord, 0, b.room())
	places := make(map[scoreboard.UserID]int, b.room())
	idle := 0 // pages without a member that was not read before
	for cursor, more := uint64(0), true; more; more = cursor != 0 {
		var page []string // members and scores by turns
		var err error
		if page, cursor, err = p.db.ZScan(ctx, b.ID, cursor, "", pageSize).Result(); err != nil {
			return nil, fmt.Errorf("read board %s: %w", b.ID, err)
		}
		before := len(records)
		for i := 0; i+1 < len(page); i += 2 {
			score, err := strconv.ParseFloat(page[i+1], 64)
			if err != nil || score != float64(int64(score)) {
				return nil, fmt.Errorf("board %s: user %q has the score %s: %w", b.ID, page[i], page[i+1], errScore)
			}
			r, err := checked(page[i], int64(score), 0)
			if err != nil {
				return nil, fmt.Errorf("board %s: %w", b.ID, err)
			}
			if place, seen := places[r.User]; seen { // a scan may return a member twice
				records[place] = r
				continue
			}
			if len(records) == MaxRecords {
				return nil, errTooMany
			}
			places[r.User] = len(records)
			records = append(records, r)
		}
		if idle++; len(records) > before {
			idle = 0
		}
		if idle == maxIdlePages {
			return nil, fmt.Errorf("read board %s: the scan returns the same members again and again", b.ID)
		}
	}
	slices.SortFunc(records, func(x, y scoreboard.ImportRecord) int {
		if b.Order == scoreboard.OrderHighest {
			x, y = y, x
		}
		return cmp.Or(cmp.Compare(x.Score, y.Score), strings.Compare(string(x.User), string(y.User)))
	})
	return records, nil
}
