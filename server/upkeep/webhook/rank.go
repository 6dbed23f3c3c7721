package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/protocol"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// topKey identifies what is compared for rank.reached.
type topKey struct {
	webhook string
	board   scoreboard.BoardID // the instance
}

// topVersion is the state of a board that was compared.
type topVersion struct{ epoch, version int64 }

// compareTops compares the boards of webhooks that want rank.reached with the users who
// were in their top before.
func (w *Worker) compareTops(ctx context.Context, hooks []scoreboard.Webhook) error {
	boards := make(map[scoreboard.BoardID]*scoreboard.Top) // nil: it cannot be read now
	seen := make(map[topKey]topVersion)
	var errs []error
	for i := range hooks {
		h := &hooks[i]
		if !h.Disabled.IsZero() || !slices.Contains(h.Types, scoreboard.WebhookRankReached) {
			continue
		}
		for _, name := range h.Boards {
			board, err := w.Boards.Board(ctx, name)
			if err != nil {
				if wire.CodeOf(err) != wire.CodeNotFound {
					errs = append(errs, fmt.Errorf("find board %s: %w", name, err))
				}
				continue
			}
			top, read := boards[board.ID]
			if !read {
				top = w.readTop(ctx, board)
				boards[board.ID] = top
			}
			key := topKey{h.ID, board.ID}
			if top == nil {
				continue
			}
			version := topVersion{top.Epoch, top.Version}
			if known, ok := w.tops[key]; !ok || known != version {
				if err := w.compareTop(ctx, h, board, top); err != nil {
					errs = append(errs, err)
					continue
				}
			}
			seen[key] = version
		}
	}
	w.tops = seen
	return errors.Join(errs...)
}

// readTop returns the first rows of a board; nil while its ranking is not complete.
func (w *Worker) readTop(ctx context.Context, board *scoreboard.Board) *scoreboard.Top {
	if board.Status == scoreboard.StatusArchived {
		return nil
	}
	top, err := w.Ranking.Top(ctx, board)
	if err != nil {
		w.Log.Debug("top not compared for webhooks", "board", board.ID, "err", err)
		return nil
	}
	if top.State != scoreboard.StateHealthy {
		return nil
	}
	return top
}

// compareTop queues a message for each user who has entered the top of a board. The first
// comparison only remembers who is there, but on a board whose period began later than the
// webhook, where nobody was.
func (w *Worker) compareTop(
	ctx context.Context, h *scoreboard.Webhook, board *scoreboard.Board, top *scoreboard.Top,
) error {
	before, err := w.Store.Top(ctx, h.ID, board.ID)
	if err != nil {
		return err
	}
	var users []scoreboard.UserID
	var messages []scoreboard.WebhookUserMessage
	remember := before == nil && !board.PeriodStart.After(h.Created)
	now := time.Now()
	for i := range top.Entries {
		e := &top.Entries[i]
		if e.Rank > int64(h.Top) {
			break
		}
		users = append(users, e.User)
		if remember || before != nil && slices.Contains(before.Users, e.User) {
			continue
		}
		row := []scoreboard.Entry{*e}
		w.Hide(board.ID, row)
		data, err := json.Marshal(wire.RankReached{
			Board: string(board.ID), Family: string(board.ID.Family()), Top: h.Top,
			Entry: protocol.EntriesOf(board.HasSubscores(), row)[0],
		})
		if err != nil {
			return fmt.Errorf("encode a reached rank: %w", err)
		}
		messages = append(messages, scoreboard.WebhookUserMessage{
			ID: scoreboard.NewWebhookMessageID(), User: e.User,
			Payload: protocol.EncodeWebhook(scoreboard.WebhookRankReached, now, data),
		})
	}
	if before != nil && slices.Equal(sorted(before.Users), sorted(users)) {
		return nil
	}
	if users == nil {
		users = []scoreboard.UserID{} // not null
	}
	_, err = w.Store.SaveTop(ctx, h.ID, board.ID, before, users, messages)
	return err
}

func sorted(users []scoreboard.UserID) []scoreboard.UserID {
	return slices.Sorted(slices.Values(users))
}
