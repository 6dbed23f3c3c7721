package main

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/scoreboard/scoreboard/internal/test/torture/contract"
)

// boardCourt is the board whose players are moderated: they are banned and
// erased, their events reversed, voided and adjusted.
const boardCourt = "court"

const courtPlayers = 8

// Corrections in a statement are rows of their own; their action names the event
// that they correct.
const (
	actionReversal = "reversal:"
	actionUndo     = "undo:"
	actionAdjust   = "adjust"
)

// court is the moderation and the players it is about: what it did, and what its clients were told.
type court struct {
	*site
	players *players

	mu          sync.Mutex
	reversible  []*contract.Event // acknowledged, and not sent with a cheat's key
	reversed    map[string]bool   // by event: true if acknowledged, false if unknown
	adjustments map[string]adjustment
	bans        []ban
	voids       []*void
	cheat       *contract.Client // sends with the key of the next void; nil: none now
}

type adjustment struct {
	user  string
	by    pair
	known bool // it was acknowledged
}

// ban is a time in which no write of the user may be acknowledged.
type ban struct {
	user string
	span
}

// void covers what was recorded with its key before a time.
type void struct {
	keyID   string
	to      time.Time
	id      int64
	state   string // the last that was seen
	several bool   // there are two of its key
	sent    []*contract.Event
}

func (v *void) String() string {
	if v == nil {
		return "none"
	}
	return fmt.Sprintf("%d of key %s before %s is %s", v.id, v.keyID, v.to, v.state)
}

func newCourt(s *site, p *players) *court {
	return &court{site: s, players: p, reversed: make(map[string]bool), adjustments: make(map[string]adjustment)}
}

// courtWriter submits increments of the players on the court, some of them as a
// cheat, whose key will be voided.
func (r *court) courtWriter(ctx context.Context, rng *rand.Rand) {
	for ctx.Err() == nil {
		r.mu.Lock()
		sender, v := r.server, (*void)(nil)
		if r.cheat != nil && rng.IntN(3) == 0 {
			sender, v = r.cheat, r.voids[len(r.voids)-1]
		}
		r.mu.Unlock()
		e := r.log.Begin(contract.Increment{
			UserID: courtPlayer(rng), Delta: 1 + rng.Int64N(50), EventID: uuid(rng), Board: boardCourt,
			Subscore: r.subscore(rng),
		}, false)
		if v != nil {
			r.mu.Lock()
			v.sent = append(v.sent, e)
			r.mu.Unlock()
		}
		r.players.settleAs(ctx, rng, sender, e)
		if e.Receipts != nil && v == nil {
			r.mu.Lock()
			r.reversible = append(r.reversible, e)
			r.mu.Unlock()
		}
		pause(ctx, time.Duration(rng.IntN(4*r.o.pauseMS+1))*time.Millisecond)
	}
}

func courtPlayer(rng *rand.Rand) string { return fmt.Sprintf("c%02d", rng.IntN(courtPlayers)) }

// uuid is an event id in its canonical form, so that a correction's action can be
// compared with it.
func uuid(rng *rand.Rand) string {
	a, b := rng.Uint64(), rng.Uint64()
	return fmt.Sprintf("%08x-%04x-4%03x-%04x-%012x", a>>32, a>>16&0xffff, a&0xfff, 0x8000|b>>48&0x3fff, b&(1<<48-1))
}

// moderator reverses, adjusts, bans and erases until ctx ends.
func (r *court) moderator(ctx context.Context, rng *rand.Rand) {
	for erased := 0; ctx.Err() == nil; {
		switch n := rng.IntN(10); {
		case n < 5:
			r.reverse(ctx, rng)
		case n < 7:
			r.adjust(ctx, rng)
		case n < 9:
			r.ban(ctx, rng)
		default:
			erased++
			r.erase(ctx, rng, fmt.Sprintf("x%d-%d", r.o.seed, erased))
		}
		pause(ctx, time.Duration(rng.IntN(400))*time.Millisecond)
	}
}

// changeTime bounds how long an operator's change is repeated. Faults overlap, so no
// node may be available for several seconds.
const changeTime = 30 * time.Second

// reverse reverses an acknowledged event, and then again, which must have no
// further effect.
func (r *court) reverse(ctx context.Context, rng *rand.Rand) {
	r.mu.Lock()
	if len(r.reversible) == 0 {
		r.mu.Unlock()
		return
	}
	i := rng.IntN(len(r.reversible))
	e := r.reversible[i]
	r.reversible = slices.Delete(r.reversible, i, i+1)
	r.reversed[e.EventID] = false
	r.mu.Unlock()
	path, body := "/v1/admin/events/"+e.EventID+"/reverse", map[string]any{"user_id": e.UserID, "reason": "torture"}
	r.log.Note(e.UserID, "operator: reverse %s", e.EventID)
	for n := range 2 {
		var answer contract.Receipt
		status := r.change(ctx, rng, path, body, &answer)
		switch {
		case status == 0:
			return
		case status != http.StatusOK:
			r.log.Violate("reversal", e.UserID, "reversing %s was answered with %d", e.EventID, status)
			return
		case n == 1 && !answer.Replayed:
			r.log.Violate("reversal", e.UserID, "reversing %s again was not a replay: %+v", e.EventID, answer)
		}
		r.mu.Lock()
		r.reversed[e.EventID] = true
		r.mu.Unlock()
	}
}

// adjust adds to a player's score.
func (r *court) adjust(ctx context.Context, rng *rand.Rand) {
	id, user, delta := uuid(rng), courtPlayer(rng), 1+rng.Int64N(100)
	if rng.IntN(2) == 0 {
		delta = -delta
	}
	a := adjustment{user: user, by: pair{score: delta}}
	body := map[string]any{"board": boardCourt, "delta": delta, "event_id": id, "reason": "torture"}
	if subscore := r.subscore(rng); subscore != nil {
		a.by.subscore, body["subscore"] = *subscore, *subscore
	}
	r.log.Note(user, "operator: adjust by %v as %s", a.by, id)
	status := r.change(ctx, rng, "/v1/admin/users/"+user+"/adjust", body, nil)
	if status == http.StatusNotFound { // a user without events
		return
	}
	if a.known = status == http.StatusOK; !a.known && status != 0 {
		r.log.Violate("adjustment", user, "adjusting by %v was answered with %d", a.by, status)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.adjustments[id] = a
}

// ban bans a player for a moment. Between the answer and the request to unban,
// nothing of the player is acknowledged, and no node shows the player in a newer
// state.
func (r *court) ban(ctx context.Context, rng *rand.Rand) {
	user, body := courtPlayer(rng), map[string]any{"reason": "torture"}
	var state struct {
		Pending bool `json:"pending"`
	}
	r.log.Note(user, "operator: ban")
	status := r.change(ctx, rng, "/v1/admin/users/"+user+"/ban", body, &state)
	if status == http.StatusNotFound {
		return
	}
	from, answered := r.log.Now(), time.Now()
	r.log.Note(user, "operator: the ban was answered with %d, pending %t", status, state.Pending)
	for range rng.IntN(4) {
		if status == http.StatusOK && !state.Pending {
			r.checkHidden(ctx, r.node(rng, "read").URL(), user, answered)
		}
		time.Sleep(100 * time.Millisecond)
	}
	if status == http.StatusOK {
		r.mu.Lock()
		r.bans = append(r.bans, ban{user, span{from, r.log.Now()}})
		r.mu.Unlock()
	}
	r.log.Note(user, "operator: unban")
	if r.change(ctx, rng, "/v1/admin/users/"+user+"/unban", body, nil) != http.StatusOK {
		r.log.Violate("availability", user, "user %s could not be unbanned", user)
	}
}

// checkHidden reads the head after the answer to a ban. A node that the ban's
// notice has not reached, because it has lost Redis or was paused, may show an
// older state, and says so by its as_of.
func (r *court) checkHidden(ctx context.Context, server, user string, banned time.Time) {
	callCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), attemptTime)
	defer cancel()
	top, code, err := r.server.Top(callCtx, server, boardCourt, "", 100)
	if err != nil || code != http.StatusOK {
		return
	}
	for i, e := range top.Entries {
		if top.AsOf.After(banned) && (e.Rank != int64(i)+1 || top.Total != int64(len(top.Entries))) {
			r.log.Violate("banned", user, "user %s is banned since %s and leaves a gap: place %d is %+v (%d of %d)",
				user, banned, i+1, e, len(top.Entries), top.Total)
			break
		}
		if e.UserID == user && top.AsOf.After(banned) {
			r.log.Violate("banned", user, "user %s is banned since %s and shown at rank %d (degraded %t %s, as of %s)",
				user, banned, e.Rank, top.Degraded, top.DegradedReason, top.AsOf)
		}
	}
}

// erase lets a player of its own submit, and erases the player.
func (r *court) erase(ctx context.Context, rng *rand.Rand, user string) {
	in := contract.Increment{
		UserID: user, Delta: 500, Subscore: r.subscore(rng), EventID: uuid(rng), Board: boardCourt,
	}
	submit := func() contract.Answer {
		for range 40 {
			sendCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), attemptTime)
			a, err := r.server.Submit(sendCtx, r.node(rng, "api").URL(), in, false)
			cancel()
			if err == nil && a.Status < 500 {
				return a
			}
			time.Sleep(100 * time.Millisecond)
		}
		return contract.Answer{}
	}
	if submit().State != "done" {
		return
	}
	r.log.Note(user, "operator: erase")
	if r.change(ctx, rng, "/v1/admin/users/"+user+"/erase", map[string]any{"reason": "torture"}, nil) != http.StatusOK {
		return
	}
	in.EventID = uuid(rng)
	if a := submit(); a.Status != 0 && a.Code != "gone" {
		r.log.Violate("erased", user, "a write of erased user %s was answered with %d %s", user, a.Status, a.Code)
	}
}

// voider lets a cheat submit with a key, voids what the key sent, and undoes
// every other void.
func (r *court) voider(ctx context.Context, rng *rand.Rand) {
	for ctx.Err() == nil {
		var key struct {
			KeyID  string `json:"key_id"`
			Secret string `json:"secret"`
		}
		if r.change(ctx, rng, "/v1/admin/keys", map[string]any{"name": "cheat"}, &key) >= 300 || key.Secret == "" {
			continue
		}
		cheat, v := *r.server, &void{keyID: key.KeyID}
		cheat.KeyID, cheat.Secret = key.KeyID, key.Secret
		r.mu.Lock()
		r.voids, r.cheat = append(r.voids, v), &cheat
		r.mu.Unlock()
		pause(ctx, time.Duration(1500+rng.IntN(3000))*time.Millisecond)
		r.mu.Lock()
		r.cheat = nil
		r.mu.Unlock()
		v.to = time.Now()
		r.void(ctx, rng, v)
	}
}

// voidAnswer is the state of a void.
type voidAnswer struct {
	ID         int64            `json:"id"`
	State      string           `json:"state"`
	KeyID      string           `json:"key_id"`
	SkippedFor map[string]int64 `json:"skipped_for"`
}

// void voids a key's events, and undoes that or not.
func (r *court) void(ctx context.Context, rng *rand.Rand, v *void) {
	r.log.Note("", "operator: void key %s before %s", v.keyID, v.to.Format("15:04:05.000000"))
	body := map[string]any{
		"key_id": v.keyID, "from": v.to.Add(-time.Hour).UTC().Format(time.RFC3339Nano),
		"to": v.to.UTC().Format(time.RFC3339Nano), "reason": "torture",
	}
	for range 40 {
		var made voidAnswer
		callCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*attemptTime)
		status, err := r.server.Call(callCtx, r.node(rng, "api").URL(), http.MethodPost, "/v1/admin/voids", body, &made)
		cancel()
		if err == nil && status < 500 {
			v.id = made.ID
			break
		}
		// The void may have been created: another one would be a second void.
		if found, ok := r.findVoid(ctx, rng, v.keyID); ok {
			v.id = found
			if found != 0 {
				break
			}
		}
		time.Sleep(200 * time.Millisecond)
	}
	if v.id == 0 {
		return
	}
	r.awaitVoid(ctx, rng, v, "done")
	if v.state == "done" && rng.IntN(2) == 0 {
		undo := fmt.Sprintf("/v1/admin/voids/%d/undo", v.id)
		r.log.Note("", "operator: undo void %d", v.id)
		if s := r.change(ctx, rng, undo, map[string]any{"reason": "torture"}, nil); s < 300 && s != 0 || s == 409 {
			v.state = "undoing"
			r.awaitVoid(ctx, rng, v, "undone")
		} else if s == 0 {
			v.state = "unknown"
		}
	}
}

// listVoids returns all voids; not ok if no node answers.
func (r *court) listVoids(ctx context.Context, rng *rand.Rand) (all []voidAnswer, ok bool) {
	callCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), attemptTime)
	defer cancel()
	var list struct {
		Voids []voidAnswer `json:"voids"`
	}
	status, err := r.server.Call(callCtx, r.node(rng, "api").URL(), http.MethodGet, "/v1/admin/voids", nil, &list)
	return list.Voids, err == nil && status == http.StatusOK
}

// findVoid returns the void of a key, or 0; not ok if no node answers.
func (r *court) findVoid(ctx context.Context, rng *rand.Rand, keyID string) (id int64, ok bool) {
	all, ok := r.listVoids(ctx, rng)
	for _, v := range all {
		if v.KeyID == keyID {
			id = v.ID
		}
	}
	return id, ok
}

// settleVoids waits until every void has ended, also those whose request had no answer. There may be two of a
// key then: the request was repeated before the first one could be seen.
func (r *court) settleVoids(ctx context.Context, rng *rand.Rand) {
	ended := func(v voidAnswer) bool { return v.State == "done" || v.State == "undone" }
	for deadline := time.Now().Add(settleTime); ctx.Err() == nil; time.Sleep(100 * time.Millisecond) {
		all, ok := r.listVoids(ctx, rng)
		open := slices.DeleteFunc(slices.Clone(all), ended)
		if !ok || len(open) > 0 {
			if time.Now().Before(deadline) {
				continue
			}
			r.log.Violate("void", "", "%s after the faults, voids have not ended: %+v", settleTime, open)
		}
		for _, v := range r.voids {
			of := slices.DeleteFunc(slices.Clone(all), func(a voidAnswer) bool { return a.KeyID != v.keyID })
			if v.several = len(of) > 1; len(of) == 1 {
				v.id, v.state = of[0].ID, of[0].State
			}
		}
		return
	}
}

// awaitVoid polls a void until it has a state; checkCourt reports one that never has.
func (r *court) awaitVoid(ctx context.Context, rng *rand.Rand, v *void, state string) {
	for deadline := time.Now().Add(settleTime); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		callCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), attemptTime)
		var now voidAnswer
		path := fmt.Sprintf("/v1/admin/voids/%d", v.id)
		status, err := r.server.Call(callCtx, r.node(rng, "api").URL(), http.MethodGet, path, nil, &now)
		cancel()
		if err == nil && status == http.StatusOK && now.State == state {
			v.state = state
			r.log.Note("", "void %d of key %s is %s, skipped %v", v.id, v.keyID, state, now.SkippedFor)
			return
		}
	}
}

// checkCourt compares the corrections in the ledger with what operators were told.
func (r *court) checkCourt(all rows) {
	corrections := make(map[string][]contract.Row) // by the corrected event
	adjusted := make(map[string][]contract.Row)
	recorded := make(map[string]contract.Row)
	for _, byBoard := range all {
		for _, row := range byBoard[boardCourt] {
			switch _, event, ok := strings.Cut(row.Action, ":"); {
			case ok:
				corrections[event] = append(corrections[event], row)
			case row.Action == actionAdjust:
				adjusted[row.EventID] = append(adjusted[row.EventID], row)
			default:
				recorded[row.EventID] = row
			}
		}
	}
	for id, a := range r.adjustments {
		got := adjusted[id]
		if len(got) > 1 || len(got) == 0 && a.known ||
			len(got) == 1 && (pair{got[0].Delta, got[0].Subscore}) != a.by {
			r.log.Violate(
				"adjustment", a.user, "%s by %v (acknowledged %t) is in the ledger as %+v", id, a.by, a.known, got,
			)
		}
	}
	for _, e := range r.log.Events() {
		if boardsOf(e.Increment)[0] != boardCourt {
			continue
		}
		net, by := int64(0), r.submitted(e.Increment, boardCourt)
		for _, row := range corrections[e.EventID] {
			switch corrected := (pair{row.Delta, row.Subscore}); {
			case strings.HasPrefix(row.Action, actionReversal) && corrected == (pair{-by.score, -by.subscore}) &&
				net == 0:
				net = -1
			case strings.HasPrefix(row.Action, actionUndo) && corrected == by && net == -1:
				net = 0
			default:
				r.log.Violate(
					"corrections", e.UserID, "event %s (%d) has the corrections %+v",
					e.EventID, e.Delta, corrections[e.EventID],
				)
			}
		}
		row, isRecorded := recorded[e.EventID]
		acknowledged, asked := r.reversed[e.EventID]
		want := net == 0
		switch v := r.voidOf(e); {
		case v != nil && v.several:
			want = true
		case acknowledged:
			want = net == -1
		case asked:
			want = true
		case v != nil && v.state == "done" && isRecorded && row.RecordedAt.Before(v.to):
			want = net == -1
		case v != nil && v.state != "done" && v.state != "undone" && v.id != 0:
			r.log.Violate("void", "", "void %d is %q %s after the faults", v.id, v.state, settleTime)
			v.id = 0 // once
			want = true
		}
		if !want {
			r.log.Violate(
				"corrections", e.UserID,
				"event %s (%d, recorded %s, reversal acknowledged %t, void %s) has the corrections %+v",
				e.EventID, e.Delta, row.RecordedAt, acknowledged, r.voidOf(e), corrections[e.EventID],
			)
		}
		delete(corrections, e.EventID)
	}
	for _, id := range slices.Sorted(maps.Keys(corrections)) {
		r.log.Violate("from nowhere", "", "event %s was never sent and has the corrections %+v", id, corrections[id])
	}
	r.checkBans()
}

// voidOf is the void that covers an event; nil: none.
func (r *court) voidOf(e *contract.Event) *void {
	for _, v := range r.voids {
		if slices.Contains(v.sent, e) {
			return v
		}
	}
	return nil
}

// checkBans: nothing that was first sent after a ban was answered is acknowledged
// before the end of the ban was asked for.
func (r *court) checkBans() {
	for _, e := range r.log.Events() {
		for _, b := range r.bans {
			if e.Receipts != nil && b.user == e.UserID && e.Invoked > b.from && e.Returned < b.to {
				r.log.Violate("banned", e.UserID, "event %s was acknowledged between a ban and its end (%s to %s)",
					e.EventID, b.from, b.to)
			}
		}
	}
}
