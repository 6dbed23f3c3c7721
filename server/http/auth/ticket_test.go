package auth_test

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/server/http/auth"
)

// twoNodes returns the tickets of two nodes that share a Redis.
func twoNodes(t *testing.T) (a, b *auth.Tickets, rdb *redis.Client) {
	t.Helper()
	rdb = backends.RedisClient(t, backends.Redis(t))
	return auth.NewTickets(rdb, time.Now), auth.NewTickets(rdb, time.Now), rdb
}

func alice(ttl time.Duration) *auth.Claims {
	return &auth.Claims{
		User:    "alice",
		Scopes:  []string{"score:update", "x"},
		Expires: time.Now().Add(ttl).Truncate(time.Second),
	}
}

func issue(t *testing.T, tickets *auth.Tickets, who *auth.Claims) string {
	t.Helper()
	ticket, expires, err := tickets.Issue(t.Context(), who, "global")
	if err != nil {
		t.Fatal(err)
	}
	if ttl := time.Until(expires); ttl <= 0 || ttl > auth.TicketTTL {
		t.Errorf("a ticket expires in %s, want at most %s", ttl, auth.TicketTTL)
	}
	return ticket
}

// redeemConcurrently redeems a ticket of a caller 20 times at once, and checks that one
// attempt gets the caller's claims and the others token_used.
func redeemConcurrently(t *testing.T, who *auth.Claims, redeem func(i int) (*auth.Claims, error)) {
	t.Helper()
	const attempts = 20
	var all sync.WaitGroup
	var won, used atomic.Int32
	for i := range attempts {
		all.Go(func() {
			c, err := redeem(i)
			switch {
			case err == nil:
				won.Add(1)
				if c.User != who.User || !slices.Equal(c.Scopes, who.Scopes) || !c.Expires.Equal(who.Expires) {
					t.Errorf("redeemed: got %+v, want %+v", c, who)
				}
			case wire.CodeOf(err) == wire.CodeTokenUsed:
				used.Add(1)
			default:
				t.Error(err)
			}
		})
	}
	all.Wait()
	if won.Load() != 1 || used.Load() != attempts-1 {
		t.Errorf("got %d of %d concurrent uses accepted, %d rejected as used; want 1 and all others",
			won.Load(), attempts, used.Load())
	}
}

// A ticket is redeemed on another connection, which nobody closes when the authority of a
// certificate is removed.
func TestCertificateGetsNoTicket(t *testing.T) {
	t.Parallel()
	tickets, _, rdb := twoNodes(t)
	who := alice(time.Hour)
	who.Certificate = true
	if ticket, _, err := tickets.Issue(t.Context(), who, "global"); wire.CodeOf(err) != wire.CodeForbidden {
		t.Errorf("a ticket: got %q, %v, want forbidden", ticket, err)
	}
	token, _, err := streamTokens(t, "0f", rdb, time.Now).Issue(t.Context(), who, "global")
	if wire.CodeOf(err) != wire.CodeForbidden {
		t.Errorf("a stream token: got %q, %v, want forbidden", token, err)
	}
}

func TestTicketIsRedeemedOnceOnAnyNode(t *testing.T) {
	t.Parallel()
	here, there, rdb := twoNodes(t)
	who := alice(time.Hour)
	ticket := issue(t, here, who)
	if _, err := there.Redeem(t.Context(), ticket, "daily", ""); wire.CodeOf(err) != wire.CodeForbidden {
		t.Errorf("another board: got %v, want forbidden", err)
	}
	redeemConcurrently(t, who, func(i int) (*auth.Claims, error) {
		return []*auth.Tickets{here, there}[i%2].Redeem(t.Context(), ticket, "global", "")
	})
	if _, err := here.Redeem(
		t.Context(),
		ticket,
		"global",
		"10.0.0.1",
	); wire.CodeOf(
		err,
	) != wire.CodeTokenUsed {
		t.Errorf("used by a WebSocket, then by an event stream: got %v, want token_used", err)
	}
	for _, key := range rdb.Keys(t.Context(), "*").Val() {
		if strings.Contains(key, ticket) {
			t.Errorf("Redis holds the ticket itself, not a hash: %s", key)
		}
	}
}

func TestTicketResumesFromSameAddress(t *testing.T) {
	t.Parallel()
	here, there, rdb := twoNodes(t)
	ticket := issue(t, here, alice(time.Hour))
	for range 3 {
		if c, err := there.Redeem(t.Context(), ticket, "global", "10.0.0.1"); err != nil || c.User != "alice" {
			t.Fatalf("got %+v, %v", c, err)
		}
	}
	for _, address := range []string{"10.0.0.2", ""} {
		if _, err := here.Redeem(
			t.Context(),
			ticket,
			"global",
			address,
		); wire.CodeOf(
			err,
		) != wire.CodeTokenUsed {
			t.Errorf("from %q: got %v, want token_used", address, err)
		}
	}
	keys := rdb.Keys(t.Context(), "sb:ticket:*").Val()
	if len(keys) != 1 {
		t.Fatalf("keys: got %v", keys)
	}
	// A ticket that has opened no stream expires as one that was not used.
	ttl := func() time.Duration { return rdb.PTTL(t.Context(), keys[0]).Val() }
	if got := ttl(); got <= 0 || got > auth.TicketTTL {
		t.Errorf("without a stream it can be resumed for %s, want at most %s", got, auth.TicketTTL)
	}
	hold := func(open bool) {
		t.Helper()
		if err := here.Hold(t.Context(), ticket, open); err != nil {
			t.Fatal(err)
		}
	}
	for _, open := range []bool{true, true, false} { // the client reconnects before its first stream is closed
		hold(open)
		if got := ttl(); got < 50*time.Minute || got > time.Hour {
			t.Errorf("with a stream it can be resumed for %s, want until its token expires in an hour", got)
		}
	}
	hold(false)
	if got := ttl(); got <= 0 || got > auth.TicketTTL {
		t.Errorf("after its streams it can be resumed for %s, want at most %s", got, auth.TicketTTL)
	}
	rdb.Del(t.Context(), keys...) // as Redis does when it expires
	hold(true)
	if left := rdb.Keys(t.Context(), "sb:ticket:*").Val(); len(left) != 0 {
		t.Errorf("an expired ticket came back: %v", left)
	}
}

// A held ticket ends with its bearer token, also after its stream.
func TestHeldTicketEndsWithItsToken(t *testing.T) {
	t.Parallel()
	here, _, rdb := twoNodes(t)
	ticket := issue(t, here, alice(10*time.Second))
	for _, open := range []bool{true, false} {
		if err := here.Hold(t.Context(), ticket, open); err != nil {
			t.Fatal(err)
		}
		if left := rdb.PTTL(t.Context(), rdb.Keys(t.Context(), "sb:ticket:*").Val()[0]).Val(); left > 10*time.Second {
			t.Errorf("open %t: it expires in %s, after its token", open, left)
		}
	}
}

func TestInvalidTickets(t *testing.T) {
	t.Parallel()
	here, _, rdb := twoNodes(t)
	late := issue(t, here, alice(time.Hour))
	ttl := rdb.PTTL(t.Context(), rdb.Keys(t.Context(), "sb:ticket:*").Val()[0]).Val()
	if ttl <= 0 || ttl > auth.TicketTTL {
		t.Errorf("an unused ticket expires in %s, want %s", ttl, auth.TicketTTL)
	}
	rdb.Del(t.Context(), rdb.Keys(t.Context(), "sb:ticket:*").Val()...) // as Redis does when it expires
	for name, ticket := range map[string]string{
		"expired": late, "unknown": "ABC", "empty": "", "huge": strings.Repeat("x", 1<<20),
	} {
		if _, err := here.Redeem(
			t.Context(),
			ticket,
			"global",
			"",
		); wire.CodeOf(
			err,
		) != wire.CodeUnauthorized {
			t.Errorf("%s: got %v, want unauthorized", name, err)
		}
	}
	_ = rdb.Close()
	if _, _, err := here.Issue(
		t.Context(),
		alice(time.Hour),
		"global",
	); wire.CodeOf(
		err,
	) != wire.CodeUnavailable {
		t.Errorf("without Redis: got %v, want unavailable", err)
	}
	if _, err := here.Redeem(t.Context(), late, "global", ""); wire.CodeOf(err) != wire.CodeUnavailable {
		t.Errorf("without Redis: got %v, want unavailable", err)
	}
}
