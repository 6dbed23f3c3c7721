package server

import (
	"context"
	"log/slog"

	"github.com/scoreboard/scoreboard/server/profile"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// What stands here makes one station look the way another asks for it.

// bus is where notices come from.
type bus interface {
	Follow(ctx context.Context, do func(scoreboard.Notice), bad func(error)) error
}

// follower carries notices to who must know.
type follower struct {
	from bus
	tell []func(scoreboard.Notice)
	log  *slog.Logger
}

func (f follower) Run(ctx context.Context) error {
	return f.from.Follow(ctx, func(n scoreboard.Notice) {
		for _, tell := range f.tell {
			tell(n)
		}
	}, func(err error) { f.log.Warn("notice skipped", "err", err) })
}

// named puts the names that are known here beside the rows of a notice.
func named(profiles *profile.Cache) func(scoreboard.Notice) {
	return func(n scoreboard.Notice) {
		if n.Top != nil {
			profiles.ShowKnown(n.Top.Entries)
		}
	}
}
