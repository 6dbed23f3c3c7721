package profile

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// Source is where profiles are kept.
type Source interface {
	Profiles(ctx context.Context, users []scoreboard.UserID) ([]scoreboard.Profile, error)
	ProfilesSince(ctx context.Context, at time.Time, user scoreboard.UserID, limit int) ([]scoreboard.Profile, error)
	// NewestProfile is when the last one was changed; zero while there is none.
	NewestProfile(ctx context.Context) (time.Time, error)
}

// Bounds of the book.
const (
	generation = 50_000 // users in each of two
	patience   = 30 * time.Millisecond
	pause      = time.Second // between two looks for changes, and after a failure
	overlap    = 5 * time.Second
	chunk      = 1000
	queued     = 64 // loads that nobody waits for
	atOnce     = 2  // loads that somebody waits for
)

// Cache knows the profiles of the users that were shown last, and who of them
// has none.
type Cache struct {
	source Source
	log    *slog.Logger
	some   atomic.Bool  // there is a profile
	shut   atomic.Int64 // nanoseconds: no loads before it
	later  chan []scoreboard.UserID
	turns  chan struct{}

	mu         sync.RWMutex
	young, old map[scoreboard.UserID]*scoreboard.Profile // nil for who has none
}

// NewCache makes an empty book; Run fills it.
func NewCache(s Source, log *slog.Logger) *Cache {
	return &Cache{
		source: s, log: log, later: make(chan []scoreboard.UserID, queued), turns: make(chan struct{}, atOnce),
		young: make(map[scoreboard.UserID]*scoreboard.Profile),
	}
}

// Show puts the profiles beside rows that nobody else has yet, and waits a
// moment for those that are not known here.
func (b *Cache) Show(ctx context.Context, rows []scoreboard.Entry) {
	missing := b.known(rows)
	if len(missing) == 0 {
		return
	}
	select {
	case b.turns <- struct{}{}:
		defer func() { <-b.turns }()
	default:
		b.load(missing)
		return
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if b.read(ctx, missing) {
		b.known(rows)
	}
}

// ShowKnown is Show that does not wait: who is missing is known the next time.
func (b *Cache) ShowKnown(rows []scoreboard.Entry) {
	if missing := b.known(rows); len(missing) > 0 {
		b.load(missing)
	}
}

func (b *Cache) load(users []scoreboard.UserID) {
	select {
	case b.later <- users:
	default: // the next who shows them asks again
	}
}

// known puts the known profiles beside rows and returns whose are not.
func (b *Cache) known(rows []scoreboard.Entry) (missing []scoreboard.UserID) {
	if !b.some.Load() {
		return nil
	}
	b.mu.RLock()
	defer b.mu.RUnlock()
	for i := range rows {
		p, ok := b.young[rows[i].User]
		if !ok {
			p, ok = b.old[rows[i].User]
		}
		if !ok {
			missing = append(missing, rows[i].User)
		}
		rows[i].Profile = p
	}
	return missing
}

// read loads the profiles of users and says whether it could.
func (b *Cache) read(ctx context.Context, users []scoreboard.UserID) bool {
	if time.Now().UnixNano() < b.shut.Load() {
		return false
	}
	found, err := b.source.Profiles(ctx, users)
	if err != nil {
		b.shut.Store(time.Now().Add(pause).UnixNano())
		b.log.Debug("profiles not read", "users", len(users), "err", err)
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, user := range users {
		if _, known := b.young[user]; !known { // what Keep has put is newer
			b.put(user, nil)
		}
	}
	for i := range found {
		b.keep(&found[i])
	}
	return true
}

// Keep takes in a profile that was just written.
func (b *Cache) Keep(p *scoreboard.Profile) {
	b.some.Store(true)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.keep(p)
}

// keep takes in a profile unless a newer one is known; the lock is held.
func (b *Cache) keep(p *scoreboard.Profile) {
	if had := b.young[p.User]; had != nil && !p.UpdatedAt.After(had.UpdatedAt) {
		return // rows that show the same are the same
	}
	if p.DisplayName == "" && p.AvatarURL == "" {
		b.put(p.User, nil)
		return
	}
	b.put(p.User, p)
}

func (b *Cache) put(user scoreboard.UserID, p *scoreboard.Profile) {
	if len(b.young) >= generation {
		b.old, b.young = b.young, make(map[scoreboard.UserID]*scoreboard.Profile)
	}
	b.young[user] = p
}

// Run keeps the book until ctx ends.
func (b *Cache) Run(ctx context.Context) error {
	tick := time.NewTicker(pause)
	defer tick.Stop()
	var since time.Time
	for {
		next, err := b.follow(ctx, since)
		if err != nil && ctx.Err() == nil {
			b.log.Debug("changed profiles not read", "err", err)
		}
		since = next
		for waiting := true; waiting; {
			select {
			case <-ctx.Done():
				return nil
			case users := <-b.later:
				limited, cancel := context.WithTimeout(ctx, pause)
				b.read(limited, users)
				cancel()
			case <-tick.C:
				waiting = false
			}
		}
	}
}

// follow takes in what was changed since a time, and a little before: a change
// is seen when it is committed, and bears the time when it was made. Of users
// that nobody was shown here nothing is kept. Before there is any profile there
// is nothing to follow.
func (b *Cache) follow(ctx context.Context, since time.Time) (time.Time, error) {
	ctx, cancel := context.WithTimeout(ctx, overlap)
	defer cancel()
	if since.IsZero() {
		newest, err := b.source.NewestProfile(ctx)
		if err == nil && !newest.IsZero() {
			b.some.Store(true)
		}
		return newest, err
	}
	at, user := since.Add(-overlap), scoreboard.UserID("")
	for {
		changed, err := b.source.ProfilesSince(ctx, at, user, chunk)
		if err != nil {
			return since, err
		}
		b.mu.Lock()
		for i := range changed {
			p := &changed[i]
			_, young := b.young[p.User]
			if _, old := b.old[p.User]; young || old {
				b.keep(p)
			}
			at, user = p.UpdatedAt, p.User
		}
		b.mu.Unlock()
		if at.After(since) {
			since = at
		}
		if len(changed) < chunk {
			return since, nil
		}
	}
}
