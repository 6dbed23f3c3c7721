package main

import (
	"context"
	"errors"
	"io"

	"github.com/charmbracelet/x/ansi"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/tui"
)

// screen returns the options of the live screen.
func (p *program) screen(
	c *client.Client,
	board string,
	ascii bool,
	watch func(context.Context, string) <-chan client.State,
) tui.Options {
	return tui.Options{
		Board: board, Watch: watch, ASCII: ascii, Explain: p.explain, Status: c.Status,
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
		BoardStatus: func(ctx context.Context, board string) (string, error) {
			b, err := c.Board(ctx, board)
			return b.Status, err
		},
		Boards: func(ctx context.Context, family string) ([]client.Board, error) { return allBoards(ctx, c, family) },
		// OSC 52 sets the terminal's clipboard, also over ssh.
		Copy: func(text string) error {
			_, err := io.WriteString(p.stdout, ansi.SetSystemClipboard(text))
			return err
		},
	}
}
