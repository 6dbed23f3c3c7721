package server

import (
	"context"
	"errors"
	"time"

	"github.com/scoreboard/scoreboard/server/archive"
	"github.com/scoreboard/scoreboard/server/protocol"
	"github.com/scoreboard/scoreboard/server/ranking"
	"github.com/scoreboard/scoreboard/server/repair"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store"
)

// jobs is repair as the API sees it.
type jobs struct {
	catalog *store.Catalog
	store   *store.Store
	ranking *ranking.Ranking

	histories map[string]history // by topic
	topic     func() string      // of them, where none is named
}

func (j jobs) Boards(ctx context.Context) ([]scoreboard.Board, error) {
	return repair.Ranked(ctx, j.catalog)
}

func (j jobs) Rebuild(ctx context.Context, board *scoreboard.Board, progress func(users, total int64)) (protocol.Rebuilt, error) {
	total, err := j.store.CountScores(ctx, board.ID)
	if err != nil {
		return protocol.Rebuilt{}, err
	}
	done, err := repair.Rebuild(ctx, j.store, j.ranking, board, func(users int64) { progress(users, total) })
	if err != nil {
		return protocol.Rebuilt{}, err
	}
	return protocol.Rebuilt{Board: string(done.Board), Epoch: done.Epoch, Users: done.Users, TookMS: done.Took.Milliseconds()}, nil
}

// makePass makes what compares everybody with the store once in a while.
func (s *Server) makePass(catalog *store.Catalog) {
	c := s.config
	if c.ReconcileEvery == 0 {
		return
	}
	check := repair.Check{Ledger: s.store, Ranking: s.ranking, Mend: c.ReconcileRepair, Progress: func(*repair.Verified) {}}
	pass := repair.NewPass(c.ReconcileEvery, check, catalog, s.ranking, ranking.ErrCold, s.keeper.Halted, s.log)
	s.register(pass.Collectors()...)
	s.add("full pass", pass)
}

// Halted implements api.Jobs.
func (j jobs) Halted(ctx context.Context) (string, error) {
	turn, err := repair.Turned(ctx, j.store, j.ranking)
	if err != nil || turn == nil {
		return "", err
	}
	return turn.String(), nil
}

// Adopt implements api.Jobs.
func (j jobs) Adopt(ctx context.Context) error { return repair.Adopt(ctx, j.store) }

// Adopted implements api.Jobs.
func (j jobs) Adopted(ctx context.Context) error { return repair.Adopted(ctx, j.store, j.ranking) }

func (j jobs) Verify(ctx context.Context, boards []scoreboard.Board, user scoreboard.UserID, ledger, mend bool, progress func(int64)) (*protocol.Verified, error) {
	check := repair.Check{
		Ledger: j.store, Ranking: j.ranking, User: user, Rows: ledger, Mend: mend,
		Progress: func(v *repair.Verified) { progress(v.Users) },
	}
	v, err := check.Run(ctx, boards)
	if errors.Is(err, ranking.ErrCold) {
		return nil, &scoreboard.Error{Code: scoreboard.CodeUnavailable, Message: "a board is being rebuilt: there is nothing to compare yet", Err: err}
	}
	if err != nil {
		return nil, err
	}
	if user != "" && v.Users == 0 && v.Wrong == 0 {
		return nil, scoreboard.Errorf(scoreboard.CodeNotFound, "user %s has no score there", user)
	}
	out := &protocol.Verified{
		Users: v.Users, Rows: v.Rows, Wrong: v.Wrong, Mended: v.Mended, TookMS: v.Took.Milliseconds(), Differences: []protocol.Difference{},
	}
	for _, d := range v.Differences {
		out.Differences = append(out.Differences, protocol.Difference{Board: string(d.Board), UserID: string(d.User), Kind: d.Kind, Detail: d.Detail})
	}
	return out, nil
}

// archiver is the archive as the API sees it.
type archiver struct{ archive *archive.Archive }

func (a archiver) Archive(ctx context.Context, dry bool) (*protocol.Archived, error) {
	started := time.Now()
	out := &protocol.Archived{Partitions: []protocol.ArchivedPartition{}, DryRun: dry}
	if dry {
		old, err := a.archive.Old(ctx)
		for _, p := range old {
			out.Partitions = append(out.Partitions, protocol.ArchivedPartition{Partition: p.Name, From: p.From, To: p.To})
		}
		out.TookMS = time.Since(started).Milliseconds()
		return out, err
	}
	done, err := a.archive.Once(ctx)
	for _, m := range done {
		out.Partitions = append(out.Partitions, protocol.ArchivedPartition{
			Partition: m.Partition, From: m.From, To: m.To, Rows: m.Rows, File: m.File, Bytes: m.Bytes, SHA256: m.SHA256,
		})
	}
	out.TookMS = time.Since(started).Milliseconds()
	return out, err
}
