package display

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// PrivacySource stores the visibility of users.
type PrivacySource interface {
	// Hidden returns up to limit users who are not public, by id, after an id.
	Hidden(ctx context.Context, after scoreboard.UserID, limit int) ([]scoreboard.Privacy, error)
	// Changed returns up to limit users who changed after a time and user, in the order of both.
	Changed(ctx context.Context, at time.Time, user scoreboard.UserID, limit int) ([]scoreboard.Privacy, error)
}

const (
	privacyInterval = 250 * time.Millisecond // between two polls
	privacyOverlap  = 5 * time.Second        // between the ranges of two polls: a change appears when it is committed
	reload          = 5 * time.Minute        // between two reads of the whole list
	timeout         = 5 * time.Second        // of a poll
	privacyChunk    = 1000
	shownBoards     = 64 // whose pseudonym is cached for a user
)

// Hidden is the hidden users.
type Hidden struct {
	source PrivacySource
	log    *slog.Logger
	change func(changed []scoreboard.UserID) // called after each change

	version atomic.Uint64 // of the list; 0: not loaded
	size    atomic.Int64
	updated atomic.Int64 // Unix milliseconds of the last poll that succeeded
	age     prometheus.GaugeFunc
	count   prometheus.GaugeFunc

	mu    sync.RWMutex
	users map[scoreboard.UserID]*hidden
	newer map[scoreboard.UserID]time.Time // while the whole list is read: changes since

	unloaded []byte // the key of everyone's pseudonyms before the list is loaded
}

// hidden is a user on the list.
type hidden struct {
	scoreboard.Privacy
	mu    sync.Mutex
	shown map[scoreboard.BoardID]*scoreboard.Profile
}

// NewHidden returns a list without users, which hides everyone until Load or Run has read it.
func NewHidden(source PrivacySource, log *slog.Logger) *Hidden {
	l := &Hidden{
		source: source, log: log, users: make(map[scoreboard.UserID]*hidden),
		unloaded: scoreboard.NewPseudonymKey(), change: func([]scoreboard.UserID) {},
	}
	l.age = prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "scoreboard_privacy_age_seconds",
		Help: "Time since this node last read whom it must hide; -1 before the first time.",
	}, func() float64 {
		if l.version.Load() == 0 {
			return -1
		}
		return time.Since(time.UnixMilli(l.updated.Load())).Seconds()
	})
	l.count = prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "scoreboard_privacy_hidden_users", Help: "Users whom this node hides.",
	}, func() float64 { return float64(l.size.Load()) })
	return l
}

// OnChange has do called, with the users, after a change is in force on this node, and before
// Put returns. It is called before Run.
func (l *Hidden) OnChange(do func(changed []scoreboard.UserID)) { l.change = do }

// Collectors returns the metrics of l.
func (l *Hidden) Collectors() []prometheus.Collector { return []prometheus.Collector{l.age, l.count} }

// Version rises with every change of the list; 0 before it is loaded.
func (l *Hidden) Version() uint64 { return l.version.Load() }

// Visibility returns to whom a user is visible; to nobody before the list is loaded.
func (l *Hidden) Visibility(user scoreboard.UserID) scoreboard.Visibility {
	if l.version.Load() == 0 {
		return scoreboard.VisibilityPseudonym
	}
	if l.size.Load() == 0 {
		return scoreboard.VisibilityPublic
	}
	l.mu.RLock()
	defer l.mu.RUnlock()
	if h := l.users[user]; h != nil {
		return h.Visibility
	}
	return scoreboard.VisibilityPublic
}

// Hide replaces hidden users but one in rows that are not shared yet.
func (l *Hidden) Hide(board scoreboard.BoardID, rows []scoreboard.Entry, except scoreboard.UserID) {
	if l.version.Load() != 0 && l.size.Load() == 0 {
		return
	}
	l.apply(board, rows, except, func() []scoreboard.Entry { return rows })
}

// Refresh returns rows, which may be shared, with those users hidden that must be now: the same
// rows if nothing differs.
func (l *Hidden) Refresh(
	board scoreboard.BoardID, rows []scoreboard.Entry, except scoreboard.UserID,
) []scoreboard.Entry {
	return l.apply(board, rows, except, func() []scoreboard.Entry { return append([]scoreboard.Entry(nil), rows...) })
}

// apply makes rows writable if one of them must change.
func (l *Hidden) apply(
	board scoreboard.BoardID, rows []scoreboard.Entry, except scoreboard.UserID, writable func() []scoreboard.Entry,
) []scoreboard.Entry {
	out, copied := rows, false
	l.mu.RLock()
	defer l.mu.RUnlock()
	for i := range rows {
		want := l.shownAs(&rows[i], board, except)
		switch {
		case want == nil && !rows[i].Hidden(), want != nil && rows[i].Profile == want:
			continue
		case !copied:
			out, copied = writable(), true
		}
		if want != nil {
			out[i].Hide(want)
		} else {
			out[i].Reveal()
		}
	}
	return out
}

// shownAs is how the user of a row is hidden; nil for one who is not.
func (l *Hidden) shownAs(
	e *scoreboard.Entry, board scoreboard.BoardID, except scoreboard.UserID,
) *scoreboard.Profile {
	user := e.ID()
	if user == except {
		return nil
	}
	if l.version.Load() == 0 {
		key := append(append([]byte(nil), l.unloaded...), user...)
		return scoreboard.HiddenProfile(user, scoreboard.Pseudonym(key, board))
	}
	if h := l.users[user]; h != nil {
		return h.on(board)
	}
	return nil
}

// on returns how the user is shown on a board. It is the same pointer each
// time, because rows are compared.
func (h *hidden) on(board scoreboard.BoardID) *scoreboard.Profile {
	h.mu.Lock()
	defer h.mu.Unlock()
	p := h.shown[board]
	if p == nil {
		if h.shown == nil || len(h.shown) >= shownBoards {
			h.shown = make(map[scoreboard.BoardID]*scoreboard.Profile, 1)
		}
		p = scoreboard.HiddenProfile(h.User, scoreboard.Pseudonym(h.Key, board))
		h.shown[board] = p
	}
	return p
}

// Put applies a change that was just stored.
func (l *Hidden) Put(p *scoreboard.Privacy) { l.update([]scoreboard.Privacy{*p}) }

// update applies changes that are newer than the list.
func (l *Hidden) update(changes []scoreboard.Privacy) {
	var changed []scoreboard.UserID
	l.mu.Lock()
	for i := range changes {
		if l.set(&changes[i]) {
			changed = append(changed, changes[i].User)
		}
	}
	l.publish(len(changed) > 0)
	l.mu.Unlock()
	if changed != nil {
		l.change(changed)
	}
}

// publish raises the version, unless the list is still to be loaded; the lock is held.
func (l *Hidden) publish(changed bool) {
	l.size.Store(int64(len(l.users)))
	if changed && l.version.Load() > 0 {
		l.version.Add(1)
	}
}

// set applies a change and reports whether it makes a difference; the lock is held.
func (l *Hidden) set(p *scoreboard.Privacy) bool {
	h := l.users[p.User]
	if l.newer != nil {
		l.newer[p.User] = p.ChangedAt
	}
	switch {
	case h == nil && p.Visibility == scoreboard.VisibilityPublic, h != nil && !p.ChangedAt.After(h.ChangedAt):
		return false
	case p.Visibility == scoreboard.VisibilityPublic:
		delete(l.users, p.User)
	default:
		next := &hidden{Privacy: *p}
		if h != nil {
			h.mu.Lock()
			next.shown = h.shown
			h.shown = nil
			h.mu.Unlock()
		}
		l.users[p.User] = next
	}
	return true
}

// Load reads the whole list.
func (l *Hidden) Load(ctx context.Context) error {
	l.mu.Lock()
	l.newer = make(map[scoreboard.UserID]time.Time)
	l.mu.Unlock()
	all := make(map[scoreboard.UserID]*scoreboard.Privacy)
	var failed error
	for after := scoreboard.UserID(""); ; {
		some, err := l.source.Hidden(ctx, after, privacyChunk)
		if err != nil {
			failed = err
			break
		}
		for i := range some {
			all[some[i].User], after = &some[i], some[i].User
		}
		if len(some) < privacyChunk {
			break
		}
	}
	var changed []scoreboard.UserID
	l.mu.Lock()
	newer := l.newer
	l.newer = nil
	if failed != nil {
		l.mu.Unlock()
		return failed
	}
	for user := range l.users {
		if _, later := newer[user]; all[user] == nil && !later {
			delete(l.users, user) // erased, or a change was missed
			changed = append(changed, user)
		}
	}
	for user, p := range all {
		if at, later := newer[user]; (!later || p.ChangedAt.After(at)) && l.set(p) {
			changed = append(changed, user)
		}
	}
	first := l.version.Load() == 0
	l.publish(len(changed) > 0)
	if first {
		l.version.Store(1)
	}
	l.updated.Store(time.Now().UnixMilli())
	l.mu.Unlock()
	if changed != nil || first {
		l.change(changed)
	}
	return nil
}

// Run follows the changes until ctx ends.
func (l *Hidden) Run(ctx context.Context) error {
	tick := time.NewTicker(privacyInterval)
	defer tick.Stop()
	var loaded, since time.Time
	failing := false
	for {
		var err error
		if now := time.Now(); l.version.Load() == 0 || now.Sub(loaded) > reload {
			if err = l.Load(ctx); err == nil {
				loaded = now
			}
		}
		if err == nil {
			since, err = l.follow(ctx, since)
		}
		if failed := err != nil && ctx.Err() == nil; failed != failing {
			failing = failed
			if failed {
				l.log.Warn("whom to hide cannot be read; the last known list holds", "err", err)
			} else {
				l.log.Info("whom to hide can be read again")
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// follow applies the changes since a time.
func (l *Hidden) follow(ctx context.Context, since time.Time) (time.Time, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	began := time.Now()
	at, user := since.Add(-privacyOverlap), scoreboard.UserID("")
	if since.IsZero() {
		at = began.Add(-reload) // Load has read the earlier ones
	}
	for {
		changes, err := l.source.Changed(ctx, at, user, privacyChunk)
		if err != nil {
			return since, err
		}
		for i := range changes {
			at, user = changes[i].ChangedAt, changes[i].User
		}
		if at.After(since) {
			since = at
		}
		l.update(changes)
		if len(changes) < privacyChunk {
			l.updated.Store(began.UnixMilli())
			return since, nil
		}
	}
}
