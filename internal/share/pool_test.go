package share_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/scoreboard/scoreboard/internal/share"
)

func of(t *testing.T, caller string) context.Context { return share.WithCaller(t.Context(), caller) }

// However many questions one caller, one board, or long questions bring, another gets a slot at
// once.
func TestNobodyTakesAllSlots(t *testing.T) {
	t.Parallel()
	for what, claim := range map[string]func(i int) (caller string, c share.Claim){
		"one caller":      func(i int) (string, share.Claim) { return "eve", share.Claim{Board: fmt.Sprint(i)} },
		"clients unnamed": func(i int) (string, share.Claim) { return "", share.Claim{Board: fmt.Sprint(i)} },
		"one board":       func(i int) (string, share.Claim) { return fmt.Sprint(i), share.Claim{Board: "hot"} },
		"long questions":  func(i int) (string, share.Claim) { return fmt.Sprint(i), share.Claim{Long: true} },
	} {
		p := share.New(3)
		var releases []func()
		for i := range 6 {
			caller, c := claim(i)
			if release, ok := p.Try(of(t, caller), c); ok {
				releases = append(releases, release)
			}
		}
		if len(releases) != 2 {
			t.Errorf("%s: %d of 3 slots, want 2", what, len(releases))
		}
		if _, ok := p.Try(of(t, "ada"), share.Claim{Board: "quiet"}); !ok {
			t.Errorf("%s: nothing is left to another", what)
		}
	}
	p := share.New(2)
	for range 2 {
		if _, ok := p.Try(t.Context(), share.Claim{Board: ""}); !ok {
			t.Error("the process's own work has a share")
		}
	}
}

// Who waits is served before a caller who holds slots, on a board before one that holds some,
// short questions before long ones, and callers take turns.
func TestWaitingCallersTakeTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := share.New(1)
		release, err := p.Take(of(t, "eve"), share.Claim{})
		if err != nil {
			t.Fatal(err)
		}
		var mu sync.Mutex
		var order []string
		ask := func(caller, name string, c share.Claim) {
			go func() {
				done, err := p.Take(of(t, caller), c)
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				order = append(order, name)
				mu.Unlock()
				done()
			}()
			synctest.Wait()
		}
		for i := range 3 {
			ask("eve", fmt.Sprint("eve", i), share.Claim{})
		}
		ask("ada", "ada long", share.Claim{Long: true})
		ask("ada", "ada", share.Claim{})
		ask("bob", "bob", share.Claim{})
		release()
		synctest.Wait()
		if want := []string{"ada", "bob", "eve0", "eve1", "eve2", "ada long"}; !slices.Equal(order, want) {
			t.Errorf("got %v, want %v", order, want)
		}
	})
}

// Who does not wait any longer leaves no trace, and one caller's queue is bounded.
func TestWaitIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := share.New(1)
		release, _ := p.Take(of(t, "eve"), share.Claim{Board: "b", Long: true})
		ctx, cancel := context.WithTimeout(of(t, "eve"), time.Second)
		defer cancel()
		full := 0
		var all sync.WaitGroup
		var mu sync.Mutex
		for range 300 {
			all.Go(func() {
				_, err := p.Take(ctx, share.Claim{})
				mu.Lock()
				defer mu.Unlock()
				switch {
				case errors.Is(err, share.ErrFull):
					full++
				case !errors.Is(err, context.DeadlineExceeded):
					t.Errorf("got %v, want a deadline", err)
				}
			})
		}
		all.Wait()
		if full != 300-256 {
			t.Errorf("%d questions did not wait, want %d", full, 300-256)
		}
		if release(); !free(t, p) {
			t.Error("the slot is not free after everyone has left")
		}
	})
}

func free(t *testing.T, p *share.Pool) bool {
	release, ok := p.Try(of(t, "eve"), share.Claim{Board: "b", Long: true})
	if ok {
		release()
	}
	return ok
}

// Under any load no more slots are given than there are, and all come back.
func TestSlotsAreConserved(t *testing.T) {
	t.Parallel()
	p := share.New(3)
	var all sync.WaitGroup
	var mu sync.Mutex
	held := 0
	for w := range 16 {
		all.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(w)))
			for range 300 {
				wait := time.Duration(random.IntN(200)) * time.Microsecond
				ctx, cancel := context.WithTimeout(of(t, fmt.Sprint(random.IntN(4))), wait)
				release, err := p.Take(ctx, share.Claim{Board: fmt.Sprint(random.IntN(3)), Long: random.IntN(2) == 0})
				cancel()
				if err != nil {
					continue
				}
				mu.Lock()
				if held++; held > 3 {
					t.Error("more slots are held than there are")
				}
				held--
				mu.Unlock()
				release()
			}
		})
	}
	all.Wait()
	for i := range 3 {
		if _, ok := p.Try(of(t, fmt.Sprint("u", i)), share.Claim{Board: fmt.Sprint("b", i)}); !ok {
			t.Errorf("only %d slots came back", i)
		}
	}
}
