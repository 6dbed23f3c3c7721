package auth

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

//go:embed redeem.lua
var luaRedeem string

//go:embed hold.lua
var luaHold string

// TicketTTL is how long a join ticket can be redeemed.
const TicketTTL = 30 * time.Second

// maxTicketLength bounds what is hashed; tickets have 26 characters, stream tokens more.
const maxTicketLength = 128

// Tickets issues and redeems join tickets, which replace the bearer token for browsers:
// they cannot set headers on a WebSocket or an EventSource. All nodes share the tickets
// through Redis, which stores only hashes.
type Tickets struct {
	rdb    redis.UniversalClient
	prefix string // of keys in Redis
	ttl    time.Duration
	redeem *redis.Script
	hold   *redis.Script
	now    func() time.Time
}

// NewTickets uses rdb, which the caller closes.
func NewTickets(rdb redis.UniversalClient, now func() time.Time) *Tickets {
	return &Tickets{
		rdb: rdb, prefix: "sb:ticket:", ttl: TicketTTL,
		redeem: redis.NewScript(luaRedeem), hold: redis.NewScript(luaHold), now: now,
	}
}

func (t *Tickets) key(ticket string) string {
	sum := sha256.Sum256([]byte(ticket))
	return t.prefix + hex.EncodeToString(sum[:])
}

// expiry returns when what is issued now for a caller expires: with the caller's token,
// if that is sooner. Within the leeway a token that has expired is still accepted.
func (t *Tickets) expiry(now time.Time, caller *Claims) time.Time {
	expires := now.Add(t.ttl)
	if caller.Expires.Before(expires) {
		expires = caller.Expires
	}
	if soonest := now.Add(time.Second); expires.Before(soonest) {
		return soonest
	}
	return expires
}

// Issue returns a ticket for the caller to join a board. It expires after TicketTTL,
// or with the caller's bearer token if that is sooner.
func (t *Tickets) Issue(
	ctx context.Context, caller *Claims, board scoreboard.BoardID,
) (ticket string, expires time.Time, err error) {
	ticket = rand.Text()
	now := t.now()
	expires = t.expiry(now, caller)
	return ticket, expires, t.store(ctx, ticket, caller, board, expires.Sub(now))
}

func (t *Tickets) store(
	ctx context.Context, ticket string, caller *Claims, board scoreboard.BoardID, ttl time.Duration,
) error {
	if caller.Certificate {
		// Whoever redeems a ticket does so on another connection, which would outlive the
		// certificate's authority.
		return scoreboard.Errorf(wire.CodeForbidden,
			"no tickets for client certificates: open the stream with the certificate")
	}
	key := t.key(ticket)
	_, err := t.rdb.TxPipelined(ctx, func(p redis.Pipeliner) error {
		p.HSet(ctx, key, "board", string(board), "user", string(caller.User),
			"scopes", strings.Join(caller.Scopes, " "), "expires", caller.Expires.UnixMilli(), "key", caller.Key)
		p.PExpire(ctx, key, ttl)
		return nil
	})
	if err != nil {
		return ticketsUnavailable(err)
	}
	return nil
}

// Redeem consumes a ticket for a board and returns its claims; of concurrent attempts
// one succeeds. With an address the ticket may be redeemed again from there until it
// expires, because an EventSource reconnects to the same URL; only Hold delays that. A
// ticket for another board is not consumed.
func (t *Tickets) Redeem(
	ctx context.Context, ticket string, board scoreboard.BoardID, address string,
) (*Claims, error) {
	if len(ticket) > maxTicketLength {
		return nil, unauthorized("the ticket is too long")
	}
	return t.consume(ctx, ticket, board, address)
}

func (t *Tickets) consume(
	ctx context.Context, ticket string, board scoreboard.BoardID, address string,
) (*Claims, error) {
	answer, err := t.redeem.Run(ctx, t.rdb, []string{t.key(ticket)}, string(board), address).StringSlice()
	if err != nil {
		return nil, ticketsUnavailable(err)
	}
	switch answer[0] {
	case "ok":
	case "used":
		return nil, scoreboard.Errorf(wire.CodeTokenUsed, "the ticket has been used")
	case "board":
		return nil, scoreboard.Errorf(wire.CodeForbidden, "the ticket is for another board")
	default:
		return nil, unauthorized("the ticket is unknown or has expired")
	}
	ms, err := strconv.ParseInt(answer[3], 10, 64)
	if err != nil {
		return nil, fmt.Errorf("read a ticket: %w", err)
	}
	return &Claims{
		User: scoreboard.UserID(answer[1]), Scopes: strings.Fields(answer[2]), Expires: time.UnixMilli(ms),
		Key: answer[4],
	}, nil
}

// Hold keeps a redeemed ticket valid while the stream is open that it has opened, but
// not beyond its bearer token. When the last stream has ended, it is valid for another
// TicketTTL, for the client to reconnect.
func (t *Tickets) Hold(ctx context.Context, ticket string, open bool) error {
	n := -1
	if open {
		n = 1
	}
	err := t.hold.Run(ctx, t.rdb, []string{t.key(ticket)}, n, t.now().UnixMilli(),
		t.ttl.Milliseconds()).Err()
	if err != nil && !errors.Is(err, redis.Nil) {
		return ticketsUnavailable(err)
	}
	return nil
}

func ticketsUnavailable(err error) error {
	return &scoreboard.Error{
		Code: wire.CodeUnavailable, Message: "join tickets are temporarily unavailable",
		RetryAfter: time.Second, Err: err,
	}
}
