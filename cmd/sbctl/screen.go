package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"

	"github.com/charmbracelet/x/ansi"
	"github.com/gorilla/websocket"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/tui"
)

// maxListed bounds the list of boards that a person picks from, or that a
// misspelt one is looked for in.
const maxListed = 1000

// screen is what the live screen shows and asks.
func (p *program) screen(c *client.Client, board string, ascii bool, watch func(context.Context, string) <-chan client.State) tui.Options {
	return tui.Options{
		Board: board, Watch: watch, ASCII: ascii, Explain: p.explain, Status: c.Status,
		Me: func(ctx context.Context, board string, neighbours int) (client.Place, error) {
			place, err := c.Me(ctx, client.PlaceQuery{Board: board, Neighbours: neighbours})
			var e *client.Error
			if errors.As(err, &e) && e.Status != 0 && neighbours > 0 {
				// On a private board a user may see the own row alone.
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
		// The terminal itself has the clipboard, also over ssh (OSC 52).
		Copy: func(text string) error {
			_, err := io.WriteString(p.stdout, ansi.SetSystemClipboard(text))
			return err
		},
	}
}

// explain says an error of a watch to a person: what is the matter, without
// the calls that it went through.
func (p *program) explain(err error) string {
	var e *client.Error
	if errors.As(err, &e) && e.Status != 0 && e.Message != "" {
		return e.Message
	}
	server := "the server"
	if s, settingsErr := p.settings(); settingsErr == nil {
		server = s.Server.Value
	}
	var errno syscall.Errno
	var dns *net.DNSError
	var slow net.Error
	var closed *websocket.CloseError
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Sprintf("%s does not answer", server)
	case errors.As(err, &dns):
		return fmt.Sprintf("%s is not to be found: %s", server, dns.Err)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET), errors.As(err, &closed):
		return "the connection was lost"
	case errors.As(err, &slow) && slow.Timeout():
		return fmt.Sprintf("%s does not answer in time", server)
	case errors.As(err, &errno):
		return fmt.Sprintf("%s is not to be reached: %s", server, errno)
	}
	return err.Error()
}
