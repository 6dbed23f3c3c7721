package loadgen

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/scoreboard/scoreboard/loadgen/plan"
	"github.com/scoreboard/scoreboard/loadgen/verify"
)

// dialectProber sends writes through a dialect that the server must reject or count
// once, one by one, before the load.
type dialectProber struct {
	*prober
	api *dialectAPI
}

// expect adds a write that was counted.
func (p *dialectProber) expect(user string, value int64) {
	if p.api.plan.KeepsBest() {
		p.expected[user] = max(p.expected[user], value)
	} else {
		p.expected[user] += value
	}
}

// replays sends a write several times, and then its event with another score. With delta
// that one is answered as a repeat, else with a 409.
func (p *dialectProber) replays(ctx context.Context, replays, conflicts *verify.Tally) error {
	event := p.api.newEvent()
	first := dialectAnswer{}
	for i, value := range []int64{5, 5, 5, 5, 6} {
		a, err := p.api.submit(ctx, p.token, p.user, event, value, "")
		if err != nil {
			return fmt.Errorf("probe replays: %w", err)
		}
		again := a.status == http.StatusOK && !a.Applied && a.Score == first.Score
		switch {
		case i == 0 && (a.status != http.StatusOK || a.Score != value):
			return fmt.Errorf("the first write through the dialect %s was answered with %d %s and the score %d, "+
				"not %d: check the token and the server's settings",
				p.api.plan.Dialect, a.status, a.Code, a.Score, value)
		case i == 0:
			first = a
			p.expect(p.user, value)
		case value == 5:
			replays.Total++
			if again {
				replays.Rejected++
			}
		default:
			conflicts.Total++
			if a.status == http.StatusConflict || again && p.api.plan.Dialect == plan.Delta {
				conflicts.Rejected++
			}
		}
	}
	return nil
}

// credentials sends writes with a wrong token and, with highscore, an action token of
// another action.
func (p *dialectProber) credentials(ctx context.Context, t *verify.Tally) error {
	wrong := []struct {
		token, actionOf string
		want            int
	}{{p.token + "x", "", http.StatusUnauthorized}}
	if p.api.plan.NeedsAction() {
		other := p.api.newEvent()
		if _, err := p.api.submit(ctx, p.token, p.user, other, 5, ""); err != nil { // starts the action, too
			return fmt.Errorf("probe credentials: %w", err)
		}
		wrong[0].actionOf = other
		wrong = append(wrong, struct {
			token, actionOf string
			want            int
		}{p.token, other, http.StatusForbidden})
	}
	for _, w := range wrong {
		event := p.api.newEvent()
		a, err := p.api.submit(ctx, w.token, p.user, event, 7, w.actionOf)
		if err != nil {
			return fmt.Errorf("probe credentials: %w", err)
		}
		t.Total++
		if a.status == w.want {
			t.Rejected++
		}
		if a.status == http.StatusOK {
			p.expect(p.user, 7)
		} else {
			p.rejected = append(p.rejected, p.api.ledgerID(p.user, event))
		}
	}
	return nil
}

// limits sends writes of one player until they are rate limited. The response must say
// when to retry.
func (p *dialectProber) limits(ctx context.Context, player, token string) (enforced bool, err error) {
	for i := range int64(maxBurst) {
		value := int64(1)
		if p.api.plan.KeepsBest() {
			value += i
		}
		a, err := p.api.submit(ctx, token, player, p.api.newEvent(), value, "")
		switch {
		case err != nil:
			return false, fmt.Errorf("probe the update limit: %w", err)
		case a.status == http.StatusOK:
			p.expect(player, value)
		case a.status == http.StatusTooManyRequests:
			return a.retryAfter != "", nil
		default:
			return false, errors.New("probe the update limit: " + (&statusError{a.status, a.Code}).Error())
		}
	}
	return false, nil
}
