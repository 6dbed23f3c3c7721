package main

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"time"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/english"
	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/sources"
)

// importRun is one run of an import.
type importRun struct {
	p      *program
	c      *client.Client
	flags  importFlags
	from   otherSystem
	source func(id string) string // the name of a board's source
}

// imported is the result for one board.
type imported struct {
	Source      string `json:"source"`
	Board       string `json:"board"`
	Users       int    `json:"users"` // of the source
	Sum         string `json:"sum"`   // of their scores on the board
	Written     int    `json:"written"`
	Unchanged   int    `json:"unchanged"`
	Rejected    int    `json:"rejected"`
	Differences int    `json:"differences"` // users without the source's score
	Misplaced   int    `json:"misplaced"`   // users of the top 100 that are not in their place
	Others      int    `json:"others"`      // users of the board that the source does not have
}

func (r *importRun) run(ctx context.Context, names []string) error {
	plan, err := r.plan(ctx, names)
	if err != nil {
		return err
	}
	if r.flags.dry {
		return r.p.print(plan, func() *table { return planTable(plan) })
	}
	if !r.p.quiet {
		fmt.Fprint(r.p.stderr, planTable(plan).render(r.p.style))
	}
	ready := slices.DeleteFunc(slices.Clone(plan), func(b *planned) bool { return b.Problem != "" })
	if len(ready) == 0 {
		return errors.New("no board can be imported")
	}
	if err := r.p.confirm(ctx, fmt.Sprintf("Import %s?", english.Count(len(ready), "board"))); err != nil {
		return err
	}
	results, err := r.importAll(ctx, ready)
	if err != nil {
		return r.resumable(err)
	}
	if err := r.p.print(results, func() *table { return importedTable(results) }); err != nil {
		return err
	}
	for _, i := range results {
		if i.Rejected+i.Differences > 0 || i.Misplaced > 0 && !r.flags.follow {
			return errCheckFailed
		}
	}
	if len(ready) < len(plan) {
		return errCheckFailed
	}
	return nil
}

func importedTable(results []*imported) *table {
	t := newTable("BOARD", ">USERS", ">SUM", ">WRITTEN", ">UNCHANGED", ">REJECTED", ">DIFFERENCES", ">MISPLACED",
		">OTHERS")
	for _, i := range results {
		t.add(i.Board, fmt.Sprint(i.Users), i.Sum, fmt.Sprint(i.Written), fmt.Sprint(i.Unchanged),
			fmt.Sprint(i.Rejected), fmt.Sprint(i.Differences), fmt.Sprint(i.Misplaced), fmt.Sprint(i.Others))
	}
	return t
}

func (r *importRun) resumable(err error) error {
	var e *client.Error
	if errors.As(err, &e) && !e.Temporary() {
		return err
	}
	return &hintedError{err, importResumes}
}

// plan reads the boards, without changing anything.
func (r *importRun) plan(ctx context.Context, names []string) ([]*planned, error) {
	boards, err := r.from.Boards(ctx, names)
	if err != nil {
		return nil, err
	}
	plan := make([]*planned, 0, len(boards))
	targets := make(map[string]string)
	records := 0 // of all boards, which are held in memory
	for _, from := range boards {
		b := &planned{
			Source: r.source(from.ID), Board: r.flags.board, Mode: string(from.Mode), Order: string(from.Order),
			Period: string(from.Period), Schedule: from.Schedule, NotImported: from.Lost, from: from,
		}
		if b.Board == "" {
			b.Board = from.ID
		}
		plan = append(plan, b)
		if err := r.examine(ctx, b); err != nil {
			return nil, err
		}
		if records += len(b.records); records > sources.MaxRecords {
			return nil, fmt.Errorf("the boards have more than %d records together; import some at a time",
				sources.MaxRecords)
		}
		if other := targets[b.Board]; other != "" && b.Problem == "" {
			b.Problem = "it would be added to " + other
		}
		targets[b.Board] = b.Source
	}
	return plan, nil
}

// examine reads a board of both systems and says what would be imported.
func (r *importRun) examine(ctx context.Context, b *planned) error {
	if err := scoreboard.CheckSource(b.Source); err != nil {
		b.Problem = "its name is not 1 to 128 of A-Z a-z 0-9 . _ : @ -"
		return nil
	}
	if id, err := scoreboard.ParseBoardID(b.Board); err != nil || id.IsInstance() {
		b.Problem = "its name is no name of a board; pass --board"
		return nil
	}
	minScore, maxScore := scoreboard.Score(-scoreboard.MaxScore), scoreboard.Score(scoreboard.MaxScore)
	to, err := r.c.Board(ctx, b.Board)
	switch {
	case wire.CodeOf(err) == wire.CodeNotFound && b.Mode == "":
		return fmt.Errorf("%w; create it with \"sbctl board create\"", err)
	case wire.CodeOf(err) == wire.CodeNotFound:
		if b.Metadata = r.flags.metadata; b.from.Subscores > 0 {
			b.Subscore = b.Order
		}
		if b.Create, b.Problem = true, b.from.Unsupported; b.Problem != "" {
			b.Problem += "; create the board"
			return nil
		}
	case err != nil:
		return err
	default:
		if b.Mode != "" && (b.Mode != to.Mode || b.Order != to.Order) {
			b.Problem = fmt.Sprintf("board %s has the mode %s and the order %s", b.Board, to.Mode, to.Order)
			return nil
		}
		if b.from.Subscores > 0 && to.Subscore != "" && to.Subscore != b.Order {
			b.Problem = fmt.Sprintf("of equal scores, board %s ranks the %s subscore first", b.Board, to.Subscore)
			return nil
		}
		b.Subscore = to.Subscore
		b.Mode, b.Order, b.Period, b.Schedule, b.Metadata = to.Mode, to.Order, to.Period, to.Schedule, to.Metadata
		minScore, maxScore = scoreboard.Score(to.MinScore), scoreboard.Score(to.MaxScore)
	}
	b.from.Metadata = b.Metadata == string(scoreboard.MetadataSelf) || b.Metadata == string(scoreboard.MetadataPublic)
	if b.records, err = r.from.Records(ctx, &b.from); err != nil {
		return err
	}
	b.Records = len(b.records)
	b.addMetadataNote()
	if lost := b.dropSubscores(); lost > 0 {
		b.NotImported = append(b.NotImported, fmt.Sprintf("%d subscores, except for the order of equal scores", lost))
	}
	for _, record := range b.records {
		if record.Score < minScore || record.Score > maxScore {
			return fmt.Errorf("user %s has the score %d; board %s takes %d to %d",
				record.User, record.Score, b.Board, minScore, maxScore)
		}
	}
	request := client.ImportRequest{Source: b.Source, Board: b.Board, DryRun: true}
	if b.Create {
		request.Board = "" // any: this checks what the caller may do
	}
	before, err := r.c.StartImport(ctx, request)
	if !b.Create {
		b.Imported = before.Users
	}
	return err
}

// dropSubscores removes the subscores of the records if the board has none, and returns how many were not 0.
func (b *planned) dropSubscores() (lost int) {
	if b.Subscore != "" {
		return 0
	}
	for i := range b.records {
		if b.records[i].Subscore != nil {
			b.records[i].Subscore = nil
			lost++
		}
	}
	return lost
}

// addMetadataNote says of how many records the metadata is not imported.
func (b *planned) addMetadataNote() {
	switch {
	case !b.from.Metadata && b.from.Described > 0:
		b.NotImported = append(b.NotImported, fmt.Sprintf("the metadata of %d records", b.from.Described))
	case b.from.Unfit > 0:
		b.NotImported = append(b.NotImported, fmt.Sprintf("the metadata of %d records, which is larger than %d bytes, "+
			"nested too deep or has inexact integers", b.from.Unfit, scoreboard.MaxMetadata))
	}
}

func (r *importRun) importAll(ctx context.Context, ready []*planned) ([]*imported, error) {
	results := make([]*imported, len(ready))
	for n, b := range ready {
		results[n] = &imported{Source: b.Source, Board: b.Board}
		if err := r.start(ctx, b); err != nil {
			return nil, err
		}
		if err := r.write(ctx, b, results[n]); err != nil {
			return nil, err
		}
		if err := r.verify(ctx, b, results[n]); err != nil {
			return nil, err
		}
	}
	for r.flags.follow {
		select {
		case <-time.After(r.flags.interval):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		agree := true
		for n, b := range ready {
			same, err := r.followBoard(ctx, b, results[n])
			if err != nil {
				return nil, err
			}
			agree = agree && same
		}
		if agree {
			break
		}
	}
	return results, nil
}

// followBoard imports what has changed, and reports whether nothing has and the boards agree.
func (r *importRun) followBoard(ctx context.Context, b *planned, result *imported) (agree bool, err error) {
	if b.records, err = r.from.Records(ctx, &b.from); err != nil {
		return false, err
	}
	b.dropSubscores()
	before, rejected := result.Written, result.Rejected
	result.Rejected = 0
	if err := r.write(ctx, b, result); err != nil {
		return false, err
	}
	if err := r.verify(ctx, b, result); err != nil {
		return false, err
	}
	changed := result.Written - before
	r.p.infof("%s: %s imported, %s", b.Board, english.Count(changed, "change"),
		english.Count(result.Differences, "difference"))
	return changed == 0 && (result.Differences == 0 || rejected > 0 && rejected == result.Rejected), nil
}

// start creates the board, if the plan says so, and starts the import.
func (r *importRun) start(ctx context.Context, b *planned) error {
	if b.Create {
		_, err := r.c.CreateBoard(ctx, client.BoardRequest{
			Board: b.Board, Mode: b.Mode, Order: b.Order, Period: b.Period, Schedule: b.Schedule,
			Metadata: b.Metadata, Subscore: b.Subscore,
		})
		if err != nil {
			return err
		}
	}
	i, err := r.c.StartImport(ctx, client.ImportRequest{Source: b.Source, Board: b.Board})
	b.id, b.written = i.ImportID, make(map[scoreboard.UserID]scoreboard.Pair, len(b.records))
	return err
}

// maxChunkMetadata bounds the metadata of a chunk: encoded, a byte of it takes up to six of the body, which may have
// a mebibyte.
const maxChunkMetadata = 128 << 10

// write sends the records that this run has not sent with the same scores.
func (r *importRun) write(ctx context.Context, b *planned, result *imported) error {
	progress := progress(r.p.output)
	described := 0 // bytes of the metadata in the chunk
	chunk := make([]client.ImportRecord, 0, client.MaxImportRecords)
	send := func(done int) error {
		if len(chunk) == 0 {
			return nil
		}
		out, err := r.c.ImportRecords(ctx, b.id, chunk)
		if err != nil {
			return err
		}
		result.Written, result.Unchanged = result.Written+out.Written, result.Unchanged+out.Unchanged
		for _, sent := range chunk {
			b.written[scoreboard.UserID(sent.UserID)] = (&scoreboard.ImportRecord{
				Score: scoreboard.Score(sent.Score), Subscore: (*scoreboard.Score)(sent.Subscore),
			}).Pair()
		}
		for _, rejected := range out.Rejected {
			delete(b.written, scoreboard.UserID(rejected.UserID))
			if result.Rejected++; result.Rejected <= maxPrintedFailures {
				r.p.infof("%s: user %s: %s", b.Board, rejected.UserID, rejected.Error.Message)
			}
		}
		chunk, described = chunk[:0], 0
		progress(client.JobLine{Board: b.Board, Records: int64(done), Total: int64(len(b.records))})
		return nil
	}
	for n, record := range b.records {
		if written, sent := b.written[record.User]; sent && written == record.Pair() {
			continue
		}
		chunk = append(chunk, client.ImportRecord{
			UserID: string(record.User), Score: int64(record.Score), Subscore: (*int64)(record.Subscore),
			Metadata: wire.Object(record.Metadata),
		})
		described += len(record.Metadata)
		if len(chunk) == client.MaxImportRecords || described >= maxChunkMetadata {
			if err := send(n + 1); err != nil {
				return err
			}
		}
	}
	return send(len(b.records))
}

// comparedTop is how many places are compared.
const comparedTop = 100

// verify compares all users and scores of the source with the board in PostgreSQL, and the
// order of the best: by a digest, and if that differs, by the standings of all.
func (r *importRun) verify(ctx context.Context, b *planned, result *imported) error {
	summary, err := r.c.ImportSummary(ctx, b.id)
	if err != nil {
		return err
	}
	var digest uint64
	for _, record := range b.records {
		digest += scoreboard.ImportDigest(record.User, record.Pair())
	}
	if summary.Users != int64(len(b.records)) || summary.Digest != strconv.FormatUint(digest, 10) {
		return r.compare(ctx, b, result)
	}
	result.Users, result.Differences, result.Misplaced = len(b.records), 0, 0
	result.Sum, result.Others = summary.Sum, int(summary.Others)
	for place, record := range b.best() {
		if place >= len(summary.Top) || summary.Top[place] != string(record.User) {
			result.Misplaced++
		}
	}
	return nil
}

// compare compares each user of the source with the standings of the board.
func (r *importRun) compare(ctx context.Context, b *planned, result *imported) error {
	want := make(map[scoreboard.UserID]scoreboard.Pair, len(b.records))
	for _, record := range b.records {
		want[record.User] = record.Pair()
	}
	ranked := b.best()
	result.Users, result.Differences, result.Misplaced, result.Others = len(b.records), len(b.records), 0, 0
	sum, place, shown := new(big.Int), 0, 0
	_, err := r.c.ExportBoard(ctx, b.Board, func(s client.Standing) error {
		pair, ours := want[scoreboard.UserID(s.UserID)]
		if !ours {
			result.Others++
			return nil
		}
		sum.Add(sum, big.NewInt(s.Score))
		subscore := int64(0)
		if s.Subscore != nil {
			subscore = *s.Subscore
		}
		switch shown++; {
		case scoreboard.Score(s.Score) == pair.Score && scoreboard.Score(subscore) == pair.Subscore:
			result.Differences--
			shown--
		case shown > maxPrintedFailures:
		case scoreboard.Score(s.Score) != pair.Score:
			r.p.infof("%s: user %s has the score %d, not %d", b.Board, s.UserID, s.Score, pair.Score)
		default:
			r.p.infof("%s: user %s has the subscore %d, not %d", b.Board, s.UserID, subscore, pair.Subscore)
		}
		if place < len(ranked) && string(ranked[place].User) != s.UserID {
			result.Misplaced++
		}
		place++
		return nil
	})
	result.Sum = sum.String()
	return err
}

// best returns the best records, in the order of their ranks; equal scores keep theirs.
func (b *planned) best() []scoreboard.ImportRecord {
	board := scoreboard.Board{Order: scoreboard.Order(b.Order), Subscore: scoreboard.Order(b.Subscore)}
	ranked := slices.Clone(b.records)
	slices.SortStableFunc(ranked, func(a, b scoreboard.ImportRecord) int {
		first, second := board.PositionOf(a.Pair(), time.Time{}, ""), board.PositionOf(b.Pair(), time.Time{}, "")
		return first.Compare(&second)
	})
	return ranked[:min(len(ranked), comparedTop)]
}
