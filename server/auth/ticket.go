package auth

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/scoreboard/scoreboard/server/scoreboard"
)

//go:embed redeem.lua
var luaRedeem string

// TicketLife is how long a join ticket waits to be redeemed.
const TicketLife = 30 * time.Second

// maxTicketLength bounds what is hashed; ours are 26 characters.
const maxTicketLength = 128

// Tickets issues and redeems join tickets: what a browser, which cannot set
// headers on a WebSocket or an EventSource, shows in the place of its bearer
// token. All nodes share them through Redis, which knows their hashes alone.
type Tickets struct {
	rdb    redis.UniversalClient
	redeem *redis.Script
	now    func() time.Time
}

// NewTickets uses rdb, which the caller closes.
func NewTickets(rdb redis.UniversalClient, now func() time.Time) *Tickets {
	return &Tickets{rdb: rdb, redeem: redis.NewScript(luaRedeem), now: now}
}

func ticketKey(ticket string) string {
	sum := sha256.Sum256([]byte(ticket))
	return "sb:ticket:" + hex.EncodeToString(sum[:])
}

// Issue makes a ticket for who, to join board. It lives for TicketLife, and no
// longer than the bearer token of who.
func (t *Tickets) Issue(ctx context.Context, who *Claims, board scoreboard.BoardID) (ticket string, expires time.Time, err error) {
	ticket = rand.Text()
	key := ticketKey(ticket)
	now := t.now()
	expires = now.Add(TicketLife)
	if who.Expires.Before(expires) {
		expires = who.Expires
	}
	// Within the leeway a token that has ended is still good for a moment.
	life := max(expires.Sub(now), time.Second)
	_, err = t.rdb.TxPipelined(ctx, func(p redis.Pipeliner) error {
		p.HSet(ctx, key, "board", string(board), "user", string(who.User),
			"scopes", strings.Join(who.Scopes, " "), "expires", who.Expires.UnixMilli())
		p.PExpire(ctx, key, life)
		return nil
	})
	if err != nil {
		return "", time.Time{}, ticketsAway(err)
	}
	return ticket, now.Add(life), nil
}

// Redeem takes a ticket for board and says whose it is; of any number who come
// with it at once, one. With an address the same ticket may come again from
// there until the bearer token ends: an EventSource comes back by itself, to
// the same URL. A ticket of another board stays good for its own.
func (t *Tickets) Redeem(ctx context.Context, ticket string, board scoreboard.BoardID, address string) (*Claims, error) {
	if len(ticket) > maxTicketLength {
		return nil, unauthorized("the ticket is too long")
	}
	answer, err := t.redeem.Run(ctx, t.rdb, []string{ticketKey(ticket)}, string(board), address).StringSlice()
	if err != nil {
		return nil, ticketsAway(err)
	}
	switch answer[0] {
	case "ok":
	case "used":
		return nil, scoreboard.Errorf(scoreboard.CodeTokenUsed, "the ticket was used before")
	case "board":
		return nil, scoreboard.Errorf(scoreboard.CodeForbidden, "the ticket is for another board")
	default:
		return nil, unauthorized("the ticket is not known, or has expired")
	}
	ms, err := strconv.ParseInt(answer[3], 10, 64)
	if err != nil {
		return nil, fmt.Errorf("read a ticket: %w", err)
	}
	return &Claims{User: scoreboard.UserID(answer[1]), Scopes: strings.Fields(answer[2]), Expires: time.UnixMilli(ms)}, nil
}

func ticketsAway(err error) error {
	return &scoreboard.Error{
		Code: scoreboard.CodeUnavailable, Message: "join tickets are not to be had now", RetryAfter: time.Second, Err: err,
	}
}
