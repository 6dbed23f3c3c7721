package server

import (
	"context"
	"log/slog"

	"github.com/scoreboard/scoreboard/server/broker"
	"github.com/scoreboard/scoreboard/server/config"
	"github.com/scoreboard/scoreboard/server/repair"
	"github.com/scoreboard/scoreboard/server/rollover"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store"
)

// boards are the boards as the API sees them: what changes in the store is
// known to this node and ranked when the call returns. Other nodes and the
// keeper find out by themselves, within a second or two.
type boards struct {
	*store.Store
	catalog *store.Catalog
	keeper  *repair.Keeper
	roll    *rollover.Rollover
	log     *slog.Logger
}

func (b boards) CreateBoard(ctx context.Context, board *scoreboard.Board, season *scoreboard.Span, why *scoreboard.AuditEntry) (*scoreboard.Board, error) {
	return b.changed(ctx)(b.Store.CreateBoard(ctx, board, season, why))
}

func (b boards) FreezeBoard(ctx context.Context, id scoreboard.BoardID, why *scoreboard.AuditEntry) (*scoreboard.Board, error) {
	return b.changed(ctx)(b.Store.FreezeBoard(ctx, id, why))
}

func (b boards) UnfreezeBoard(ctx context.Context, id scoreboard.BoardID, why *scoreboard.AuditEntry) (*scoreboard.Board, error) {
	return b.changed(ctx)(b.Store.UnfreezeBoard(ctx, id, why))
}

func (b boards) RequireOf(ctx context.Context, id scoreboard.BoardID, r *scoreboard.Requirements, why *scoreboard.AuditEntry) (*scoreboard.Board, error) {
	return b.changed(ctx)(b.Store.RequireOf(ctx, id, r, why))
}

func (b boards) ArchiveBoard(ctx context.Context, id scoreboard.BoardID, why *scoreboard.AuditEntry) (*scoreboard.Board, error) {
	return b.changed(ctx)(b.Store.ArchiveBoard(ctx, id, why))
}

// Roll rolls over what is due, of all boards or of one.
func (b boards) Roll(ctx context.Context, family scoreboard.BoardID, dry bool) (made []scoreboard.BoardID, ended []scoreboard.Ending, err error) {
	made, ended, err = b.roll.Roll(ctx, family, dry)
	if err == nil && !dry {
		b.settle(ctx, family)
	}
	return made, ended, err
}

func (b boards) BeginSeason(ctx context.Context, family scoreboard.BoardID, season scoreboard.Span, dry bool, why *scoreboard.AuditEntry) (*scoreboard.BoardID, error) {
	ended, err := b.Store.BeginSeason(ctx, family, season, dry, why)
	if err == nil && !dry {
		b.settle(ctx, family)
	}
	return ended, err
}

// changed settles what a change of a board returned.
func (b boards) changed(ctx context.Context) func(*scoreboard.Board, error) (*scoreboard.Board, error) {
	return func(board *scoreboard.Board, err error) (*scoreboard.Board, error) {
		if err == nil {
			b.settle(ctx, board.Family)
		}
		return board, err
	}
}

// settle takes a change of a board and its instances in, or of all boards. What it cannot do now
// the keeper does later.
func (b boards) settle(ctx context.Context, family scoreboard.BoardID) {
	err := b.catalog.Refresh(ctx)
	if err == nil {
		err = b.keeper.Settle(ctx, family)
	}
	if err != nil {
		b.log.Warn("ranking is not as the boards are yet", "board", family, "err", err)
	}
}

// makeRollover makes what ends periods, and runs it where this process keeps
// the house. Ends are announced over Kafka where there is one, else over a
// stream of Redis.
func (s *Server) makeRollover(catalog *store.Catalog) {
	c := s.config
	var way broker.Way = broker.NewStreams(broker.StreamsOptions{Name: c.KafkaSeasonsTopic, Shards: 1, Length: int64(c.StreamsLength)}, s.redis)
	if s.kafka != nil {
		s.seasons = s.kafka.Producer(c.KafkaSeasonsTopic)
		way = s.seasons
	}
	s.rollover = rollover.New(processName(), s.store, catalog, broker.NewSeasons(way), s.log)
	if c.Has(config.RoleUpkeep) {
		s.add("rollover", s.rollover)
		s.register(s.rollover.Collectors()...)
	}
}
