package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/charmbracelet/x/ansi"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/tui"
)

// screen returns the options of the live screen.
func screen(
	server *connector, c *client.Client, board string, watch func(context.Context, string) <-chan client.State,
) tui.Options {
	return tui.Options{
		Board: board, Watch: watch, Explain: server.explain, Status: c.Status, User: c.User,
		BoardInfo: func(ctx context.Context, board string) (client.Board, error) {
			b, err := c.Board(ctx, board)
			return sealed(b), err
		},
		Me: func(ctx context.Context, board string, neighbours int) (client.Place, error) {
			place, err := c.Me(ctx, client.PlaceQuery{Board: board, Neighbours: neighbours})
			var e *client.Error
			if errors.As(err, &e) && e.Status != 0 && neighbours > 0 {
				// On a private board users may read only their own row.
				return c.Me(ctx, client.PlaceQuery{Board: board})
			}
			return place, err
		},
		Find: func(ctx context.Context, board, user string, neighbours int) (client.Place, error) {
			return c.Around(ctx, user, client.PlaceQuery{Board: board, Neighbours: neighbours})
		},
		Top: func(ctx context.Context, board string, limit int) (client.Top, error) {
			return c.Top(ctx, client.TopQuery{Board: board, Limit: limit})
		},
		Statement: func(ctx context.Context, board, user string) (client.Statement, error) {
			return c.Statement(ctx, user, client.StatementQuery{Board: board})
		},
		History: func(ctx context.Context, board, user string) (client.RankHistory, error) {
			return c.RankHistory(ctx, user, client.HistoryQuery{Board: board})
		},
		Flags: func(ctx context.Context) ([]client.Flag, error) {
			page, err := c.Flags(ctx, client.FlagQuery{})
			return page.Flags, err
		},
		Jobs: func(ctx context.Context) ([]client.Job, error) { return c.Jobs(ctx, 0) },
		DeadLetters: func(ctx context.Context) ([]client.DeadLetter, error) {
			page, err := c.DeadLetters(ctx, 0)
			return page.Letters, err
		},
		Boards: func(ctx context.Context, family string) ([]client.Board, error) {
			boards, err := allBoards(ctx, c, family)
			for i := range boards {
				boards[i] = sealed(boards[i])
			}
			return boards, err
		},
		Act: func(ctx context.Context, a tui.Action) error { return act(ctx, c, a) },
		// OSC 52 sets the terminal's clipboard, also over ssh.
		Copy: func(text string) error {
			_, err := io.WriteString(server.stdout, ansi.SetSystemClipboard(text))
			return err
		},
	}
}

// act makes a change that an operator chose on the screen.
func act(ctx context.Context, c *client.Client, a tui.Action) (err error) {
	because := client.Because(ctx, a.Reason)
	switch a.Verb {
	case tui.BanUser:
		_, err = c.Ban(ctx, a.Target, a.Reason)
	case tui.FreezeUser:
		_, err = c.Freeze(ctx, a.Target, a.Reason)
	case tui.FreezeBoard:
		_, err = c.FreezeBoard(because, a.Target)
	case tui.UnfreezeBoard:
		_, err = c.UnfreezeBoard(because, a.Target)
	case tui.RebuildBoard:
		_, err = c.Rebuild(because, client.JobRequest{Board: a.Target}, func(client.JobLine) {})
	default:
		err = fmt.Errorf("unknown action %q", a.Verb)
	}
	return err
}
