package server

import (
	"context"

	"github.com/scoreboard/scoreboard/server/profile"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store"
)

// profiles is the store with the book of this node, which hears of a change at
// once.
type profiles struct {
	store *store.Store
	book  *profile.Book
}

func (p profiles) PutProfile(ctx context.Context, put *scoreboard.Profile, why *scoreboard.AuditEntry) error {
	if err := p.store.PutProfile(ctx, put, why); err != nil {
		return err
	}
	kept := *put
	p.book.Keep(&kept)
	return nil
}

// named puts the names that are known here beside the rows of a notice.
func named(book *profile.Book) func(scoreboard.Notice) {
	return func(n scoreboard.Notice) {
		if n.Top != nil {
			book.ShowKnown(n.Top.Entries)
		}
	}
}
