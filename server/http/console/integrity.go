package console

import (
	"net/http"
	"net/url"
	"strconv"

	"github.com/scoreboard/scoreboard/client/wire"
)

func flagHref(id int64) string { return Root + "/integrity/flags/" + strconv.FormatInt(id, 10) }
func voidHref(id int64) string { return Root + "/integrity/voids/" + strconv.FormatInt(id, 10) }

var flagList = &list[wire.Flag]{
	name: "flags", path: Root + "/integrity", cursor: "after", empty: "No flag waits for a decision.",
	about: "Events that a rule found unusual. Dismiss what is harmless. Confirm what is not, then reverse the event " +
		"or ban the user.",
	filters: []filter{
		{Name: "state", Label: "State", Options: []string{"open", "dismissed", "confirmed", "all"}},
		{Name: "user_id", Label: "User"},
	},
	columns: []column[wire.Flag]{
		{"id", "Flag", func(f wire.Flag) cell { return reference(flagHref(f.ID), f.ID) }},
		{"state", "State", func(f wire.Flag) cell { return badge(f.State) }},
		{"rule", "Rule", func(f wire.Flag) cell { return text(f.Rule) }},
		{"user_id", "User", func(f wire.Flag) cell { return to(playerHref(f.UserID), f.UserID) }},
		{"board", "Board", func(f wire.Flag) cell { return to(boardHref(f.Board), f.Board) }},
		{"delta", "Delta", func(f wire.Flag) cell { return signed(f.Delta) }},
		{"times", "Times", func(f wire.Flag) cell { return number(f.Times) }},
		{"last_at", "Last", func(f wire.Flag) cell { return timeOf(f.LastAt) }},
		{"detail", "Detail", func(f wire.Flag) cell { return text(f.Detail) }},
	},
	fetch: func(k *call, q url.Values) ([]wire.Flag, string, error) {
		var out wire.Flags
		err := k.get("/v1/admin/flags", q, &out)
		return out.Flags, cursorOf(out.NextAfter), err
	},
}

// voidList is the newest voids. The API has no further pages.
var voidList = &list[wire.Void]{
	path: Root + "/integrity", empty: "No events were voided.",
	about: "All events of one key or address in a time range, taken back together.",
	columns: []column[wire.Void]{
		{"", "Void", func(v wire.Void) cell { return reference(voidHref(v.ID), v.ID) }},
		{"", "State", func(v wire.Void) cell { return badge(v.State) }},
		{"", "Sender", func(v wire.Void) cell { return code(v.KeyID + v.Address) }},
		{"", "Reversed", func(v wire.Void) cell { return number(v.Reversed) }},
		{"", "Remaining", func(v wire.Void) cell { return number(v.Todo) }},
		{"", "By", func(v wire.Void) cell { return text(v.Who) }},
		{"", "Created", func(v wire.Void) cell { return timeOf(v.CreatedAt) }},
		{"", "Reason", func(v wire.Void) cell { return text(v.Reason) }},
	},
	fetch: func(k *call, _ url.Values) ([]wire.Void, string, error) {
		var out wire.Voids
		err := k.get("/v1/admin/voids", nil, &out)
		return out.Voids, "", err
	},
}

type integrityView struct {
	Flags       *rowActions
	Voids, Jobs *tableView
	JobActions  []link
}

// integrity shows flags, voids and jobs.
func (c *views) integrity(w http.ResponseWriter, r *http.Request, s *session) error {
	k := c.caller.as(r, s)
	if done, err := flagList.export(k, w, r); done {
		return err
	}
	flags, err := flagList.view(k, r)
	if err != nil {
		return err
	}
	d := &integrityView{Flags: &rowActions{Table: flags}}
	for _, row := range flags.Rows {
		var decide []link
		if row[1].Text == "open" {
			decide = flagActions(s, row[0].raw())
		}
		d.Flags.Actions = append(d.Flags.Actions, decide)
	}
	rows, _, err := voidList.fetch(k, nil)
	if err != nil {
		return err
	}
	d.Voids = voidList.plain(rows)
	var jobs wire.Jobs
	if err := k.get("/v1/admin/jobs", url.Values{"limit": {"5"}}, &jobs); err != nil {
		return err
	}
	d.Jobs = jobList.plain(jobs.Jobs)
	d.JobActions = offer(s, changeLink("verify", "Verify"), changeLink("reconcile", "Repair rankings"),
		changeLink("rebuild", "Rebuild"))
	return c.screen.show(w, r, s, "integrity", &view{
		Title: "Integrity", Section: "integrity", Data: d,
		Actions: offer(s, changeLink("void-create", "Void a sender’s events")),
	})
}

// flag shows a flag, to be confirmed or dismissed.
func (c *views) flag(w http.ResponseWriter, r *http.Request, s *session) error {
	id := r.PathValue("id")
	var f wire.Flag
	if err := c.caller.as(r, s).get("/v1/admin/flags/"+url.PathEscape(id), nil, &f); err != nil {
		return err
	}
	facts := []fact{
		{"State", badge(f.State)},
		{"Rule", text(f.Rule)},
		{"Effect", text(map[string]string{
			"flag": "the event was counted", "enforce": "the event was rejected",
		}[f.Mode])},
		{"Detail", text(f.Detail)},
		{"User", to(playerHref(f.UserID), f.UserID)},
		{"Board", to(boardHref(f.Board), f.Board)},
		{"Event", idOf("", f.EventID)},
		{"Delta", signed(f.Delta)},
		{"Times", number(f.Times)},
		{"First", timeOf(f.CreatedAt)},
		{"Last", timeOf(f.LastAt)},
	}
	if f.DecidedAt != nil {
		facts = append(
			facts,
			fact{"Decided", timeOf(*f.DecidedAt)},
			fact{"By", text(f.DecidedBy)},
			fact{"Reason", text(f.Reason)},
		)
	}
	v := &view{
		Title: "Flag #" + strconv.FormatInt(f.ID, 10), Section: "integrity",
		Crumbs: []link{{Label: "Integrity", Href: Root + "/integrity"}}, Data: &detailView{Facts: facts},
	}
	if f.State == "open" {
		v.Actions = flagActions(s, id)
	}
	return c.screen.show(w, r, s, "detail", v)
}

// flagActions decide an open flag.
func flagActions(s *session, id string) []link {
	return offer(s, changeLink("flag-dismiss", "Dismiss", "id", id), changeLink("flag-confirm", "Confirm", "id", id))
}

type voidView struct {
	Facts    []fact
	Done     int64
	Total    int64
	Active   bool
	Failures []wire.VoidFailure
}

// void shows a void and its progress.
func (c *views) void(w http.ResponseWriter, r *http.Request, s *session) error {
	id := r.PathValue("id")
	var v wire.Void
	if err := c.caller.as(r, s).get("/v1/admin/voids/"+url.PathEscape(id), nil, &v); err != nil {
		return err
	}
	done := v.Reversed + v.Skipped
	if v.State == "undoing" || v.State == "undone" {
		done = v.Undone
	}
	d := &voidView{
		Done: done, Total: done + v.Todo, Failures: v.Failures,
		Active: v.State != "done" && v.State != "undone",
	}
	d.Facts = []fact{
		{"State", badge(v.State)},
		{"Sender", code(v.KeyID + v.Address)},
		{"From", timeOf(v.From)},
		{"To", timeOf(v.To)},
		{"Reason", text(v.Reason)},
		{"By", text(v.Who)},
		{"Created", timeOf(v.CreatedAt)},
		{"Done", timeOrNone(v.DoneAt)},
		{"Reversed", number(v.Reversed)},
		{"Skipped", number(v.Skipped)},
		{"Restored", number(v.Undone)},
		{"Waiting", number(v.Waiting)},
	}
	if r := v.Rewards; r != nil {
		d.Facts = append(d.Facts, fact{"Rewards revoked", number(r.Revoked)},
			fact{"Rewards flagged", number(r.Flagged)})
	}
	if v.Problem != "" {
		d.Facts = append(d.Facts, fact{"Problem", text(v.Problem)}, fact{"Next attempt", timeOrNone(v.NextAt)})
	}
	if v.UndoAt != nil {
		d.Facts = append(d.Facts, fact{"Undone by", text(v.UndoBy)}, fact{"Reason of the undo", text(v.UndoReason)})
	}
	page := &view{
		Title: "Void #" + strconv.FormatInt(v.ID, 10), Section: "integrity", Data: d,
		Crumbs: []link{{Label: "Integrity", Href: Root + "/integrity"}},
	}
	if v.State == "done" {
		page.Actions = offer(s, changeLink("void-undo", "Undo void", "id", id))
	}
	return c.screen.show(w, r, s, "void", page)
}
