package display

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// ProfileSource stores profiles.
type ProfileSource interface {
	Profiles(ctx context.Context, users []scoreboard.UserID) ([]scoreboard.Profile, error)
	ProfilesSince(ctx context.Context, at time.Time, user scoreboard.UserID, limit int) ([]scoreboard.Profile, error)
	// NewestProfile returns the time of the last change; zero without any profile.
	NewestProfile(ctx context.Context) (time.Time, error)
}

// Limits of the cache.
const (
	generation      = 50_000                // users in each of two generations
	maxWait         = 30 * time.Millisecond // of rows for profiles
	profileInterval = time.Second           // between two polls, and after a failure
	profileOverlap  = 5 * time.Second       // between the ranges of two polls
	profileChunk    = 1000
	maxQueued       = 64 // loads without a caller
	maxLoads        = 2  // concurrent loads with a waiting caller
)

// Profiles holds the profiles of recently shown users, and which of them have none.
type Profiles struct {
	source ProfileSource
	log    *slog.Logger
	used   atomic.Bool  // some user has a profile
	retry  atomic.Int64 // Unix nanoseconds: no loads before it
	queue  chan []scoreboard.UserID
	loads  chan struct{}

	mu         sync.RWMutex
	young, old map[scoreboard.UserID]*scoreboard.Profile // nil or empty for users without one
}

// NewProfiles returns an empty cache; Run fills it.
func NewProfiles(s ProfileSource, log *slog.Logger) *Profiles {
	return &Profiles{
		source: s, log: log,
		queue: make(chan []scoreboard.UserID, maxQueued), loads: make(chan struct{}, maxLoads),
		young: make(map[scoreboard.UserID]*scoreboard.Profile),
	}
}

// Show adds the profiles to rows that are not shared yet, and waits a moment for
// those that are not cached.
func (c *Profiles) Show(ctx context.Context, rows []scoreboard.Entry) {
	missing := c.known(rows)
	if len(missing) == 0 {
		return
	}
	select {
	case c.loads <- struct{}{}:
		defer func() { <-c.loads }()
	default:
		c.load(missing)
		return
	}
	ctx, cancel := context.WithTimeout(ctx, maxWait)
	defer cancel()
	if c.read(ctx, missing) {
		c.known(rows)
	}
}

// ShowKnown is Show without waiting: missing profiles are loaded for the next time.
func (c *Profiles) ShowKnown(rows []scoreboard.Entry) {
	if missing := c.known(rows); len(missing) > 0 {
		c.load(missing)
	}
}

func (c *Profiles) load(users []scoreboard.UserID) {
	select {
	case c.queue <- users:
	default: // the next caller queues them again
	}
}

// known adds the cached profiles to rows, but not to those of hidden users, and returns the users that are missing.
func (c *Profiles) known(rows []scoreboard.Entry) (missing []scoreboard.UserID) {
	if !c.used.Load() {
		return nil
	}
	c.mu.RLock()
	defer c.mu.RUnlock()
	for i := range rows {
		if rows[i].Hidden() {
			continue
		}
		p, ok := c.young[rows[i].User]
		if !ok {
			p, ok = c.old[rows[i].User]
		}
		if !ok {
			missing = append(missing, rows[i].User)
		}
		if p != nil && p.Empty() {
			p = nil
		}
		rows[i].Profile = p
	}
	return missing
}

// read loads the profiles of users and reports whether it could.
func (c *Profiles) read(ctx context.Context, users []scoreboard.UserID) bool {
	if time.Now().UnixNano() < c.retry.Load() {
		return false
	}
	found, err := c.source.Profiles(ctx, users)
	if err != nil {
		c.retry.Store(time.Now().Add(profileInterval).UnixNano())
		c.log.Debug("profiles not read", "users", len(users), "err", err)
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, user := range users {
		if _, known := c.young[user]; !known { // Keep may have stored a newer one
			c.put(user, nil)
		}
	}
	for i := range found {
		c.keep(&found[i])
	}
	return true
}

// Put caches a profile that was just stored.
func (c *Profiles) Put(p *scoreboard.Profile) {
	c.used.Store(true)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.keep(p)
}

// keep caches a profile unless a newer one is cached; the lock is held. An empty one is
// kept with its time: a request may store a name, be overtaken by the user's erasure, and
// cache that name only then.
func (c *Profiles) keep(p *scoreboard.Profile) {
	if had := c.young[p.User]; had != nil && !p.UpdatedAt.After(had.UpdatedAt) {
		return // rows with the same pointer compare as equal
	}
	c.put(p.User, p)
}

func (c *Profiles) put(user scoreboard.UserID, p *scoreboard.Profile) {
	if len(c.young) >= generation {
		c.old, c.young = c.young, make(map[scoreboard.UserID]*scoreboard.Profile)
	}
	c.young[user] = p
}

// Run polls for changes and loads queued profiles until ctx ends.
func (c *Profiles) Run(ctx context.Context) error {
	tick := time.NewTicker(profileInterval)
	defer tick.Stop()
	var since time.Time
	for {
		next, err := c.follow(ctx, since)
		if err != nil && ctx.Err() == nil {
			c.log.Debug("changed profiles not read", "err", err)
		}
		since = next
		for waiting := true; waiting; {
			select {
			case <-ctx.Done():
				return nil
			case users := <-c.queue:
				limited, cancel := context.WithTimeout(ctx, profileInterval)
				c.read(limited, users)
				cancel()
			case <-tick.C:
				waiting = false
			}
		}
	}
}

// follow caches the changes since a time, with some overlap, because a change
// appears when it is committed but has the time at which it was made. It skips
// users that are not cached.
func (c *Profiles) follow(ctx context.Context, since time.Time) (time.Time, error) {
	ctx, cancel := context.WithTimeout(ctx, profileOverlap)
	defer cancel()
	if since.IsZero() {
		newest, err := c.source.NewestProfile(ctx)
		if err == nil && !newest.IsZero() {
			c.used.Store(true)
		}
		return newest, err
	}
	at, user := since.Add(-profileOverlap), scoreboard.UserID("")
	for {
		changed, err := c.source.ProfilesSince(ctx, at, user, profileChunk)
		if err != nil {
			return since, err
		}
		c.mu.Lock()
		for i := range changed {
			p := &changed[i]
			_, young := c.young[p.User]
			if _, old := c.old[p.User]; young || old {
				c.keep(p)
			}
			at, user = p.UpdatedAt, p.User
		}
		c.mu.Unlock()
		if at.After(since) {
			since = at
		}
		if len(changed) < profileChunk {
			return since, nil
		}
	}
}
