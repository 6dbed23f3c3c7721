package server_test

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/client/wire"
	"github.com/scoreboard/scoreboard/internal/test/backends"
	"github.com/scoreboard/scoreboard/server/http/auth"
)

// naivePair is a user's standing on a board with subscores, as the rules say it in a few lines.
type naivePair struct {
	user            string
	score, subscore int64
	reached         time.Time
}

// naiveBoard is such a board without any of the server's code.
type naiveBoard struct {
	mode, order, subscore string
	shared                bool
	of                    map[string]naivePair
}

// compare is negative where a has the better pair.
func (b *naiveBoard) compare(a, c naivePair) int {
	first, second := cmp.Compare(c.score, a.score), cmp.Compare(c.subscore, a.subscore)
	if b.order == "lowest" {
		first = -first
	}
	if b.subscore == "lowest" {
		second = -second
	}
	return cmp.Or(first, second)
}

// submit is what a submission makes of a user's pair at a time.
func (b *naiveBoard) submit(user string, score, subscore int64, at time.Time) (now naivePair, before *naivePair) {
	now = naivePair{user, score, subscore, at}
	if old, had := b.of[user]; had {
		before = &old
		switch {
		case b.mode == "increment":
			now.score, now.subscore = old.score+score, old.subscore+subscore
		case b.mode == "best" && b.compare(now, old) >= 0:
			now = old
		}
		if now.score == old.score && now.subscore == old.subscore {
			now.reached = old.reached
		}
	}
	b.of[user] = now
	return now, before
}

// rows are all users, best first, as rowsText writes them.
func (b *naiveBoard) rows() []string {
	all := make([]naivePair, 0, len(b.of))
	for _, p := range b.of {
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, c naivePair) int {
		return cmp.Or(b.compare(a, c), a.reached.Compare(c.reached), cmp.Compare(a.user, c.user))
	})
	out := make([]string, len(all))
	rank := 0
	for i, p := range all {
		if i == 0 || !b.shared || b.compare(all[i-1], p) != 0 {
			rank = i + 1
		}
		out[i] = fmt.Sprintf("%d %s %d/%d", rank, p.user, p.score, p.subscore)
	}
	return out
}

// wouldRank is the rank of a pair that nobody has submitted.
func (b *naiveBoard) wouldRank(score, subscore int64) int64 {
	rank := int64(1)
	for _, p := range b.of {
		// Of equal pairs, the one that is there is ahead.
		if c := b.compare(p, naivePair{score: score, subscore: subscore}); c < 0 || c == 0 && !b.shared {
			rank++
		}
	}
	return rank
}

func rowsText(rows []client.Entry) []string {
	out := make([]string, len(rows))
	for i, e := range rows {
		out[i] = fmt.Sprintf("%d %s %d/%s", e.Rank, e.UserID, e.Score, optional(e.Subscore))
	}
	return out
}

func optional(n *int64) string {
	if n == nil {
		return "none"
	}
	return fmt.Sprint(*n)
}

// On boards of every mode and order, in one piece and in partitions, all that shows standings has the order of a
// few plain lines: score, subscore, time, user.
func TestSubscoresThroughTheAPI(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	n := h.start(allRoles+",intake", "ingest-async", "true", "boards-close-grace", "1s")
	other := h.start(allRoles) // reads
	c := n.client("root", auth.ScopeAdmin+" "+auth.ScopeUpdate)
	reads := other.client("root", auth.ScopeAdmin+" "+auth.ScopeUpdate)
	end := time.Now().Add(time.Hour).UTC()
	for i, b := range []naiveBoard{
		{mode: "increment", order: "highest", subscore: "highest"},
		{mode: "best", order: "lowest", subscore: "highest"},
		{mode: "latest", order: "highest", subscore: "lowest", shared: true},
		{mode: "best", order: "highest", subscore: "lowest"},
	} {
		name := fmt.Sprint("pairs", i)
		partitions := 1 + i/3
		r := client.BoardRequest{
			Board: name, Mode: b.mode, Order: b.order, Subscore: b.subscore, Partitions: &partitions, Period: "season",
			Season: "one", EndsAt: &end, MinDelta: new(int64(-3)), MaxDelta: new(int64(3)),
			MinSubscore: new(int64(-5)), MaxSubscore: new(int64(5)),
		}
		if b.shared {
			r.Ties = "shared"
		}
		made, err := c.CreateBoard(t.Context(), r)
		if err != nil || made.Subscore != b.subscore || *made.MinSubscore != -5 || *made.MaxSubscore != 5 {
			t.Fatalf("got %+v, %v", made, err)
		}
		b.of = map[string]naivePair{}
		t.Run(name, func(t *testing.T) { subscoresOf(t, h, n, c, reads, name, &b) })
	}
}

func subscoresOf(t *testing.T, h *harness, n *node, c, reads *client.Client, name string, b *naiveBoard) {
	h.t = t
	rng := rand.New(rand.NewPCG(7, 11))
	submitted := func(in client.Increment, r client.Receipt) {
		t.Helper()
		subscore := int64(0)
		if in.Subscore != nil {
			subscore = *in.Subscore
		}
		now, before := b.submit(in.User, in.Delta, subscore, r.RecordedAt)
		want := fmt.Sprint(now.score, "/", now.subscore, " none")
		if before != nil {
			want = fmt.Sprint(now.score, "/", now.subscore, " ", before.subscore)
		}
		got := fmt.Sprint(r.NewScore, "/", optional(r.NewSubscore), " ", optional(r.PreviousSubscore))
		first := b.mode == "increment" && before == nil && got == fmt.Sprint(now.score, "/", now.subscore, " 0")
		if got != want && !first {
			t.Errorf("%s of %d/%d: got the receipt %s, want %s", in.User, in.Delta, subscore, got, want)
		}
	}
	next := func(i int) client.Increment {
		in := client.Increment{
			User: fmt.Sprint("u", rng.IntN(9)), Board: name, EventID: fmt.Sprint(name, "-e", i), Delta: rng.Int64N(4),
			Subscore: new(rng.Int64N(5) - 2),
		}
		if b.mode == "increment" && in.Delta == 0 && *in.Subscore == 0 {
			in.Delta = 1
		} else if rng.IntN(6) == 0 && in.Delta != 0 {
			in.Subscore = nil
		}
		return in
	}
	const single, batched = 40, 20
	for i := range single {
		in := next(i)
		r, err := c.Submit(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		submitted(in, r)
	}
	for i := range batched { // one at a time, so that their order is known
		in := next(single + i)
		out, err := c.SubmitBatch(t.Context(), []client.Increment{in})
		if err != nil || out[0].Err != nil {
			t.Fatalf("got %+v, %v", out, err)
		}
		submitted(in, out[0].Receipt)
	}
	// Accepted for later: the receipt is read by the event.
	if b.mode != "latest" {
		in := client.Increment{User: "u1", Delta: 2, Subscore: new(int64(-1)), EventID: name + "-later"}
		header := bearer(h.token("u1", "", time.Hour))
		header.Set("Prefer", "respond-async")
		body := fmt.Sprintf(`{"user_id":"u1","delta":2,"event_id":"%[1]s-later","board":%[1]q,"timestamp":%[2]q,`+
			`"subscore":-1}`, name, time.Now().UTC().Format(time.RFC3339))
		status, _, answer := request(t, http.MethodPost, n.URL+"/v1/scores/increment", body, header)
		if status != http.StatusAccepted {
			t.Fatalf("got %d %s, want 202", status, answer)
		}
		if last := n.outcome(t, h.token("u1", "", time.Hour), "u1", name+"-later"); last.Status != wire.StatusDone {
			t.Fatalf("got %+v", last)
		}
		event, err := c.ReceiptOf(t.Context(), "u1", name+"-later")
		if err != nil {
			t.Fatal(err)
		}
		submitted(in, event.Receipts[0])
	}
	subscoresAreRead(t, h, reads, name, b)
	subscoresAreRejected(t, h, n, c, name, b)
	subscoresAreTakenBack(t, h, c, reads, name, b)
	subscoresAreFinal(t, h, c, reads, name)
}

// subscoresAreRead compares all reads of a board with the naive order.
func subscoresAreRead(t *testing.T, h *harness, c *client.Client, name string, b *naiveBoard) {
	t.Helper()
	want := b.rows()
	h.await(fmt.Sprintf("the order %q", want), func() bool {
		top, err := c.Top(t.Context(), client.TopQuery{Board: name, Limit: 100})
		return err == nil && !top.Degraded && slices.Equal(rowsText(top.Entries), want)
	})
	var pages []string
	for q := (client.TopQuery{Board: name, Limit: 2}); ; {
		page, err := c.Top(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, rowsText(page.Entries)...)
		if q.Cursor = page.NextCursor; q.Cursor == "" || len(page.Entries) == 0 {
			break
		}
	}
	if !slices.Equal(pages, want) {
		t.Errorf("%s: the pages are %q, want %q", name, pages, want)
	}
	at := time.Now().UTC()
	h.await("the moment", func() bool {
		top, err := c.Top(t.Context(), client.TopQuery{Board: name, Limit: 100, At: at})
		return err == nil && slices.Equal(rowsText(top.Entries), want)
	})
	for i, row := range want {
		user := strings.Fields(row)[1]
		near := want[max(i-1, 0):min(i+2, len(want))]
		for _, q := range []client.PlaceQuery{{Board: name, Neighbours: 1}, {Board: name, Neighbours: 1, At: at}} {
			p, err := c.Around(t.Context(), user, q)
			got := fmt.Sprintf("%d %s %d/%s", p.Rank, p.UserID, p.Score, optional(p.Subscore))
			if err != nil || got != row || !slices.Equal(rowsText(p.Neighbours), near) {
				t.Errorf("%s: got %q and %q, %v, want %q and %q", name, got, rowsText(p.Neighbours), err, row, near)
			}
		}
		e, err := c.ExplainRank(t.Context(), user, name)
		got := fmt.Sprintf("%d %s %d/%s", e.Rank, e.UserID, e.Score, optional(e.Subscore))
		if err != nil || got != row {
			t.Errorf("%s: explained as %q, %v, want %q", name, got, err, row)
		}
		s, err := c.Statement(t.Context(), user, client.StatementQuery{Board: name, Limit: 1})
		if err != nil || len(s.Entries) != 1 || s.Entries[0].Subscore == nil ||
			optional(s.Entries[0].NewSubscore) != fmt.Sprint(b.of[user].subscore) {
			t.Errorf("%s: the statement of %s is %+v, %v", name, user, s.Entries, err)
		}
	}
	list, err := c.Users(t.Context(), name, []string{"u3", "u0", "nobody", "u1"})
	if err != nil || len(list.NotFound) != 1 {
		t.Errorf("%s: got %+v, %v", name, list, err)
	}
	for i, e := range list.Entries {
		row := rowsText([]client.Entry{e.Entry})[0]
		if !slices.Contains(want, row) || i > 0 && slices.Index(want, row) < slices.Index(want,
			rowsText([]client.Entry{list.Entries[i-1].Entry})[0]) {
			t.Errorf("%s: the list has %q out of order, want %q", name, row, want)
		}
	}
	var exported []string
	if _, err := c.ExportBoard(t.Context(), name, func(s client.Standing) error {
		exported = append(exported, fmt.Sprintf("%d %s %d/%s", s.Rank, s.UserID, s.Score, optional(s.Subscore)))
		return nil
	}); err != nil || !slices.Equal(exported, want) {
		t.Errorf("%s: the export is %q, %v, want %q", name, exported, err, want)
	}
	for score := int64(-1); score <= 4; score++ {
		for subscore := int64(-3); subscore <= 3; subscore++ {
			_, err := c.Score(t.Context(), "nobody", client.PlaceQuery{Board: name, Score: &score, Subscore: &subscore})
			var none *client.Error
			if !errors.As(err, &none) || none.WouldRank != b.wouldRank(score, subscore) {
				t.Errorf("%s: %d/%d would have the rank %v, want %d", name, score, subscore, err,
					b.wouldRank(score, subscore))
			}
		}
	}
}

// subscoresAreRejected submits what is wrong, and repeats.
func subscoresAreRejected(t *testing.T, h *harness, n *node, c *client.Client, name string, b *naiveBoard) {
	t.Helper()
	before := b.rows()
	if _, err := c.Submit(t.Context(), client.Increment{
		User: "u1", Board: name, EventID: name + "-again", Delta: 1, Subscore: new(int64(1)),
	}); err != nil {
		t.Fatal(err)
	}
	again := client.ReverseRequest{UserID: "u1", Reason: "test"}
	if _, err := c.Reverse(t.Context(), name+"-again", again); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []struct {
		what     string
		board    string
		event    string
		delta    int64
		subscore *int64
		code     wire.Code
		field    string
	}{
		{"another subscore", name, name + "-again", 1, new(int64(2)), wire.CodeEventConflict, ""},
		{"no subscore", name, name + "-again", 1, nil, wire.CodeEventConflict, ""},
		{"a subscore above the bounds", name, "bad", 1, new(int64(6)), wire.CodeDeltaOutOfRange, "subscore"},
		{"a subscore below the bounds", name, "bad", 1, new(int64(-6)), wire.CodeDeltaOutOfRange, "subscore"},
		{"a subscore beyond 2^53", name, "bad", 1, new(int64(1 << 53)), wire.CodeDeltaOutOfRange, "subscore"},
		{"a board without subscores", "global", "bad", 1, new(int64(0)), wire.CodeInvalidRequest, "subscore"},
	} {
		_, err := c.Submit(t.Context(), client.Increment{
			User: "u1", Board: bad.board, EventID: bad.event, Delta: bad.delta, Subscore: bad.subscore,
		})
		var refused *client.Error
		if !errors.As(err, &refused) || refused.Code != bad.code || refused.Field != bad.field {
			t.Errorf("%s: got %v, want %s of %q", bad.what, err, bad.code, bad.field)
		}
	}
	if r, err := c.Submit(t.Context(), client.Increment{
		User: "u1", Board: name, EventID: name + "-again", Delta: 1, Subscore: new(int64(1)),
	}); err != nil || !r.Replayed || r.NewSubscore == nil {
		t.Errorf("a repeat: got %+v, %v", r, err)
	}
	// A signature in the body does not cover it.
	key, err := c.CreateKey(t.Context(), client.KeyRequest{Name: "game"})
	if err != nil {
		t.Fatal(err)
	}
	r := wire.IncrementRequest{UserID: "u1", Delta: 1, EventID: "signed", Board: name}
	client.Signer{KeyID: key.KeyID, Secret: key.Secret}.Fields(&r, time.Now())
	body := fmt.Sprintf(`{"user_id":"u1","delta":1,"event_id":"signed","board":%q,"timestamp":%q,"key_id":%q,`+
		`"signature":%q,"subscore":0}`, name, r.Timestamp, r.KeyID, r.Signature)
	token := bearer(h.token("u1", "", time.Hour))
	status, _, answer := request(t, http.MethodPost, n.URL+"/v1/scores/increment", body, token)
	if status != http.StatusBadRequest || !strings.Contains(answer, `"field":"subscore"`) {
		t.Errorf("a subscore with a field signature: got %d %s, want a 400", status, answer)
	}
	for path, want := range map[string]int{
		"/v1/users/nobody/rank?subscore=1&board=" + name:                http.StatusBadRequest,
		"/v1/users/nobody/rank?score=1&subscore=1.5&board=" + name:      http.StatusBadRequest,
		"/v1/users/nobody/rank?score=1&subscore=1&board=global":         http.StatusBadRequest,
		"/v1/users/nobody/rank?score=1&subscore=1&at=now&board=" + name: http.StatusBadRequest,
	} {
		if status, answer := h.get(t, n.URL+path, token); status != want {
			t.Errorf("%s: got %d %s, want %d", path, status, answer, want)
		}
	}
	if after := b.rows(); !slices.Equal(before, after) {
		t.Fatal("the naive board has changed")
	}
}

// subscoresAreTakenBack reverses an event and erases a user.
func subscoresAreTakenBack(t *testing.T, h *harness, c, reads *client.Client, name string, b *naiveBoard) {
	t.Helper()
	user := "solo-" + name // an erased user writes no more
	for _, step := range []struct {
		event           string
		score, subscore int64
	}{{"one", 1, 1}, {"two", 3, 4}, {"three", 3, -4}} {
		if _, err := c.Submit(t.Context(), client.Increment{
			User: user, Board: name, EventID: step.event, Delta: step.score, Subscore: &step.subscore,
		}); err != nil {
			t.Fatal(err)
		}
		b.submit(user, step.score, step.subscore, time.Now())
	}
	pair := func() string {
		p, err := reads.Score(t.Context(), user, client.PlaceQuery{Board: name})
		if err != nil {
			return err.Error()
		}
		return fmt.Sprintf("%d/%s", p.Score, optional(p.Subscore))
	}
	all := fmt.Sprintf("%d/%d", b.of[user].score, b.of[user].subscore)
	h.await("the pair "+all, func() bool { return pair() == all })
	if _, err := c.Reverse(t.Context(), "three", client.ReverseRequest{UserID: user, Reason: "test"}); err != nil {
		t.Fatal(err)
	}
	delete(b.of, user)
	b.submit(user, 1, 1, time.Now())
	b.submit(user, 3, 4, time.Now())
	left := fmt.Sprintf("%d/%d", b.of[user].score, b.of[user].subscore)
	h.await("the pair "+left+" after the reversal", func() bool { return pair() == left })
	if _, err := c.Erase(t.Context(), user, "test"); err != nil {
		t.Fatal(err)
	}
	h.await("the erasure", func() bool {
		top, err := reads.Top(t.Context(), client.TopQuery{Board: name, Limit: 100})
		return err == nil && top.Total == int64(len(b.of)-1)
	})
}

// subscoresAreFinal ends the season: the final standings have the order that the top had.
func subscoresAreFinal(t *testing.T, h *harness, c, reads *client.Client, name string) {
	t.Helper()
	top, err := reads.Top(t.Context(), client.TopQuery{Board: name, Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	later := time.Now().Add(time.Hour).UTC()
	if _, err := c.RollBoards(t.Context(), name, client.RollRequest{Season: "two", EndsAt: &later}); err != nil {
		t.Fatal(err)
	}
	var final client.FinalStandings
	h.await("the final standings", func() bool {
		final, err = c.FinalStandings(t.Context(), name+":one", 0)
		return err == nil
	})
	var rows []string
	for _, e := range final.Entries {
		rows = append(rows, fmt.Sprintf("%d %s %d/%s", e.Rank, e.UserID, e.Score, optional(e.Subscore)))
	}
	if want := rowsText(top.Entries); !slices.Equal(rows, want) {
		t.Errorf("%s: the final standings are %q, want %q", name, rows, want)
	}
	// The next season has subscores, too.
	r, err := c.Submit(t.Context(), client.Increment{User: "u1", Board: name, Delta: 1, Subscore: new(int64(2))})
	if err != nil || r.Board != name+":two" || optional(r.NewSubscore) != "2" {
		t.Errorf("%s: got %+v, %v", name, r, err)
	}
}

// A stream sends a subscore with each row, and one that alone has changed moves a user.
func TestSubscoresInStreams(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	n := h.start(allRoles, loopback...)
	c := n.client("root", auth.ScopeAdmin+" "+auth.ScopeUpdate)
	if _, err := c.CreateBoard(t.Context(), client.BoardRequest{
		Board: "live", Mode: "latest", Subscore: "highest",
	}); err != nil {
		t.Fatal(err)
	}
	submit := func(user string, score, subscore int64) {
		t.Helper()
		if _, err := c.Submit(t.Context(), client.Increment{
			User: user, Board: "live", Delta: score, Subscore: &subscore,
		}); err != nil {
			t.Fatal(err)
		}
	}
	hook := newReceiver(t)
	if _, err := c.CreateWebhook(t.Context(), client.WebhookRequest{
		URL: hook.URL, Types: []string{"rank.reached"}, Boards: []string{"live"}, Top: 1,
	}); err != nil {
		t.Fatal(err)
	}
	submit("ada", 10, 2)
	submit("bob", 10, 1)
	states := n.client("bob", "").Watch(t.Context(), "live", client.WatchOptions{})
	await(t, states, "ada ahead by her subscore", func(s client.State) bool {
		return slices.Equal(rowsText(s.Entries), []string{"1 ada 10/2", "2 bob 10/1"})
	})
	db := backends.Connect(t, h.postgres)
	h.await("the first comparison for the webhook", func() bool {
		return db.Count(t, `select count(*) from webhook_tops where users = '{ada}'`) == 1
	})
	submit("bob", 10, 3)
	await(t, states, "bob ahead by his", func(s client.State) bool {
		return slices.Equal(rowsText(s.Entries), []string{"1 bob 10/3", "2 ada 10/2"})
	})
	await(t, states, "bob's own message", func(s client.State) bool {
		return s.Me != nil && s.Me.Rank == 1 && s.Me.Score == 10 && optional(s.Me.Subscore) == "3"
	})
	h.await("a message that bob is first", func() bool {
		return slices.ContainsFunc(hook.all("rank.reached"), func(m received) bool {
			return strings.Contains(m.body, `"user_id":"bob"`) && strings.Contains(m.body, `"subscore":3`)
		})
	})
}

// Both numbers reach ±(2^53 − 1) on boards of any order, in one piece and in partitions, and every read has them in the
// order of a few plain lines. What would leave the range changes nothing, also between other events of a batch.
func TestSubscoresAtTheirLimits(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	n := h.start(allRoles)
	c := n.client("root", auth.ScopeAdmin+" "+auth.ScopeUpdate)
	const most = 1<<53 - 1
	for i, b := range []naiveBoard{
		{mode: "increment", order: "highest", subscore: "highest"},
		{mode: "increment", order: "lowest", subscore: "lowest", shared: true},
		{mode: "increment", order: "highest", subscore: "lowest"},
	} {
		name, partitions := fmt.Sprint("limits", i), 1+2*(i/2)
		r := client.BoardRequest{
			Board: name, Mode: b.mode, Order: b.order, Subscore: b.subscore, Partitions: &partitions,
			MinDelta: new(int64(-most)), MaxDelta: new(int64(most)), MinScore: new(int64(-most)),
		}
		if b.shared {
			r.Ties = "shared"
		}
		if _, err := c.CreateBoard(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		b.of = map[string]naivePair{}
		t.Run(name, func(t *testing.T) { subscoresAtLimits(t, h, c, name, &b) })
	}
}

func subscoresAtLimits(t *testing.T, h *harness, c *client.Client, name string, b *naiveBoard) {
	h.t = t
	const most = 1<<53 - 1
	sent := 0
	in := func(user string, score, subscore int64) client.Increment {
		sent++
		return client.Increment{
			User: user, Board: name, Delta: score, Subscore: &subscore, EventID: fmt.Sprint(name, "-", sent),
		}
	}
	submit := func(ins ...client.Increment) []client.Result {
		t.Helper()
		out, err := c.SubmitBatch(t.Context(), ins)
		if err != nil {
			t.Fatal(err)
		}
		for i, o := range out {
			if o.Err == nil {
				now, _ := b.submit(ins[i].User, ins[i].Delta, *ins[i].Subscore, o.Receipt.RecordedAt)
				if o.Receipt.NewScore != now.score || optional(o.Receipt.NewSubscore) != fmt.Sprint(now.subscore) {
					t.Errorf("item %d: got %+v, want %+v", i, o.Receipt, now)
				}
			}
		}
		return out
	}
	refused := func(what string, err error, code wire.Code, field string) {
		t.Helper()
		var e *client.Error
		if !errors.As(err, &e) || e.Code != code || e.Field != field {
			t.Errorf("%s: got %v, want %s of %q", what, err, code, field)
		}
	}
	for i, p := range [][2]int64{
		{most, most}, {most, -most}, {-most, most}, {-most, -most}, {most, 0}, {0, most}, {0, -most}, {1, 1}, {1, 1},
	} {
		for _, o := range submit(in(fmt.Sprint("u", i), p[0], p[1])) {
			if o.Err != nil {
				t.Fatal(o.Err)
			}
		}
	}
	out := submit(
		in("u0", -1, -1), in("u0", 1, 1), in("u0", -1, 1), in("u0", 0, -2), in("u0", 1, 0), in("u0", 0, 2),
		in("u3", -1, 0), in("u3", 0, -1), in("u3", 1, 1),
	)
	for i, field := range []string{"", "", "subscore", "", "delta", "", "delta", "subscore", ""} {
		if field == "" && out[i].Err != nil {
			t.Errorf("item %d of the batch: %v", i, out[i].Err)
		} else if field != "" {
			refused(fmt.Sprint("item ", i), out[i].Err, wire.CodeScoreOutOfRange, field)
		}
	}
	// Without the first event, the second would lead beyond the range.
	first := in("u1", -1, most)
	submit(first, in("u1", -1, -most))
	_, err := c.Reverse(t.Context(), first.EventID, client.ReverseRequest{UserID: "u1", Reason: "test"})
	refused("a reversal", err, wire.CodeScoreOutOfRange, "subscore")
	for _, a := range []struct {
		delta    int64
		subscore *int64
		code     wire.Code
		field    string
	}{
		{1, nil, wire.CodeScoreOutOfRange, "delta"},
		{0, new(int64(1)), wire.CodeScoreOutOfRange, "subscore"},
		{0, new(int64(most + 1)), wire.CodeDeltaOutOfRange, "subscore"},
		{0, new(int64(0)), wire.CodeDeltaOutOfRange, "delta"},
		{0, nil, wire.CodeDeltaOutOfRange, "delta"},
		{-1, new(int64(-most)), "", ""},
		{1, new(int64(most)), "", ""},
		{0, new(int64(-3)), "", ""},
		{-2, nil, "", ""},
	} {
		r, err := c.Adjust(t.Context(), client.Adjustment{
			User: "u0", Board: name, Delta: a.delta, Subscore: a.subscore, Reason: "test",
		})
		what := fmt.Sprintf("an adjustment by %d and %s", a.delta, optional(a.subscore))
		if a.code != "" {
			refused(what, err, a.code, a.field)
			continue
		}
		subscore := int64(0)
		if a.subscore != nil {
			subscore = *a.subscore
		}
		now, before := b.submit("u0", a.delta, subscore, r.RecordedAt)
		if err != nil || r.NewScore != now.score || optional(r.NewSubscore) != fmt.Sprint(now.subscore) ||
			optional(r.PreviousSubscore) != fmt.Sprint(before.subscore) {
			t.Errorf("%s: got %+v, %v, want %+v", what, r, err, now)
		}
	}
	subscoresAreRead(t, h, c, name, b)
}

// A node that does not know a board yet, which another has just created, shows the subscores of its receipts.
func TestSubscoresOfANewBoard(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	c := h.start(allRoles).client("root", auth.ScopeAdmin+" "+auth.ScopeUpdate)
	other := h.start(allRoles).client("root", auth.ScopeAdmin+" "+auth.ScopeUpdate)
	for i := range 5 { // the other node reads the boards every second
		board := fmt.Sprint("new", i)
		if _, err := c.CreateBoard(t.Context(), client.BoardRequest{Board: board, Subscore: "highest"}); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Submit(t.Context(), client.Increment{
			User: "ada", Board: board, Delta: 1, Subscore: new(int64(2)), EventID: board,
		}); err != nil {
			t.Fatal(err)
		}
		e, err := other.ReceiptOf(t.Context(), "ada", board)
		if err != nil || len(e.Receipts) != 1 || optional(e.Receipts[0].NewSubscore) != "2" {
			t.Errorf("board %s: got %+v, %v, want the subscore 2", board, e, err)
		}
	}
}
