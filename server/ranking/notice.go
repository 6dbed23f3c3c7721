package ranking

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/scoreboard/scoreboard/server/ranking/piece"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// readComplete reads that word into n.
func readComplete(word string, n *scoreboard.Notice) error {
	times := strings.Split(word, ",")
	if len(times) != 1+len(n.Moved) {
		return fmt.Errorf("read a notice: %d times for %d users", len(times)-1, len(n.Moved))
	}
	for i, text := range times {
		micros, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return fmt.Errorf("read a notice: %w", err)
		}
		at := time.UnixMicro(micros).UTC()
		if !scoreboard.IsWritable(at) {
			return fmt.Errorf("read a notice: invalid time: %d", micros)
		}
		switch {
		case i > 0:
			n.Moved[i-1].ReachedAt = at
		case n.Top != nil:
			n.Top.AsOf = at
		}
	}
	return nil
}

// Follow calls do with every notice until ctx ends. Notices are lost while Redis
// is unavailable; versions reveal that. A malformed one, which another build may
// have sent, goes to bad.
func (r *Ranking) Follow(ctx context.Context, do func(scoreboard.Notice), bad func(error)) error {
	sub := r.conn.Redis.Subscribe(ctx, piece.Channel)
	defer func() { _ = sub.Close() }() // nothing is lost
	messages := sub.Channel()
	for {
		select {
		case <-ctx.Done():
			return nil
		case m, ok := <-messages:
			if !ok {
				return nil
			}
			n, err := parseNotice(m.Payload)
			if err != nil {
				bad(err)
				continue
			}
			do(n)
		}
	}
}

// parseNotice reads what announce in put.lua published: the order has two words on a board with
// subscores.
func parseNotice(payload string) (n scoreboard.Notice, err error) {
	line, rest, _ := strings.Cut(payload, "\n")
	f := strings.Fields(line)
	var orders piece.Orders
	switch len(f) {
	case 8:
		orders.Subscore = scoreboard.Order(f[5])
		f = slices.Delete(f, 5, 6)
	case 7:
	default:
		return n, fmt.Errorf("read a notice: %q has %d fields, want 7 or 8", line, len(f))
	}
	orders.Score = scoreboard.Order(f[4])
	n.Subscores = orders.Subscore != ""
	var facts [5]int64
	for i, at := range []int{1, 2, 3, 5, 6} {
		if facts[i], err = strconv.ParseInt(f[at], 10, 64); err != nil {
			return n, fmt.Errorf("read a notice: %w", err)
		}
	}
	updated := time.UnixMicro(facts[2]).UTC()
	if !scoreboard.IsWritable(updated) {
		return n, fmt.Errorf("read a notice: invalid time: %d", facts[2])
	}
	n.Board = scoreboard.BoardID(f[0])
	if size := facts[4]; size >= 0 {
		if size > int64(len(rest)) {
			return n, fmt.Errorf("read a notice: the merged top is cut short")
		}
		top := &scoreboard.Top{
			Board:     n.Board,
			Epoch:     facts[0],
			Version:   facts[1],
			UpdatedAt: updated,
			Total:     facts[3],
			Subscores: n.Subscores,
		}
		if top.Entries, err = piece.UnpackTop(rest[:size], orders); err != nil {
			return n, err
		}
		n.Top, rest = top, rest[size:]
	}
	moved := strings.Fields(rest)
	for i := 0; i+3 < len(moved); i += 4 {
		var v [4]int64
		score, subscore, has := strings.Cut(moved[i+1], ":")
		for j, text := range []string{score, subscore, moved[i+2], moved[i+3]} {
			if j == 1 && !has {
				continue // it is 0
			}
			if v[j], err = strconv.ParseInt(text, 10, 64); err != nil {
				return n, fmt.Errorf("read a notice: %w", err)
			}
		}
		n.Moved = append(
			n.Moved,
			scoreboard.Moved{
				User:     scoreboard.UserID(moved[i]),
				Score:    scoreboard.Score(v[0]),
				Subscore: scoreboard.Score(v[1]),
				Revision: v[2],
				Version:  v[3],
			},
		)
	}
	for _, word := range moved[len(moved)-len(moved)%4:] {
		switch {
		case word == piece.Hides:
			n.Hides = true
		case strings.HasPrefix(word, piece.Complete):
			if err := readComplete(word[len(piece.Complete):], &n); err != nil {
				return n, err
			}
		case strings.HasPrefix(word, piece.Traced):
			n.Trace = word[len(piece.Traced):]
		}
	}
	return n, nil
}
