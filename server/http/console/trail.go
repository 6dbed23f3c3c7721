package console

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/scoreboard/scoreboard/client/wire"
)

var auditList = &list[wire.AuditEntry]{
	name: "audit", path: Root + "/audit", cursor: "cursor", empty: "No entry matches.",
	filters: []filter{
		{Name: "who", Label: "Who"},
		{Name: "action", Label: "Action", Hint: "user.ban"},
		{Name: "target", Label: "Target", Hint: "user:alice"},
		{Name: "from", Label: "From", Hint: "2026-11-21T10:00:00Z"},
		{Name: "to", Label: "To", Hint: "2026-11-21T11:00:00Z"},
	},
	columns: []column[wire.AuditEntry]{
		{"at", "Time", func(e wire.AuditEntry) cell { return timeOf(e.At) }},
		{"who", "Who", func(e wire.AuditEntry) cell { return text(e.Who) }},
		{"action", "Action", func(e wire.AuditEntry) cell {
			v := code(e.Action)
			v.Href = Root + "/audit/" + strconv.FormatInt(e.ID, 10)
			return v
		}},
		{"target", "Target", func(e wire.AuditEntry) cell { return targetOf(e.Target) }},
		{"reason", "Reason", func(e wire.AuditEntry) cell { return text(e.Reason) }},
		{"address", "Address", func(e wire.AuditEntry) cell { return code(e.Address) }},
	},
	fetch: func(k *call, q url.Values) ([]wire.AuditEntry, string, error) {
		var out wire.AuditEntries
		err := k.get("/v1/admin/audit", q, &out)
		return out.Entries, out.NextCursor, err
	},
}

// targetPages are the pages of what audit entries name, by kind.
var targetPages = map[string]func(name string) string{
	"user": playerHref, "board": boardHref, "webhook": webhookHref,
	"key":     func(string) string { return Root + "/keys" },
	"letter":  func(id string) string { return Root + "/dead-letters/" + url.PathEscape(id) },
	"flag":    func(id string) string { return Root + "/integrity/flags/" + url.PathEscape(id) },
	"void":    func(id string) string { return Root + "/integrity/voids/" + url.PathEscape(id) },
	"setting": func(name string) string { return settingList.path + "?" + url.Values{"name": {name}}.Encode() },
}

// targetOf shows what a change was made to, and leads to its page if it has one.
func targetOf(target string) cell {
	v := text(target)
	kind, name, _ := strings.Cut(target, ":")
	if page := targetPages[kind]; page != nil && name != "" && name != "*" {
		v.Href = page(name)
	}
	return v
}

// auditView is the audit trail, with the result of a verification of its chain.
type auditView struct {
	Table        *tableView
	Chain        *wire.AuditChain
	ChainProblem *failure
}

// audit lists the audit trail, and verifies its chain if asked to.
func (c *views) audit(w http.ResponseWriter, r *http.Request, s *session) error {
	k := c.caller.as(r, s)
	if done, err := auditList.export(k, w, r); done {
		return err
	}
	t, err := auditList.view(k, r)
	if err != nil {
		return err
	}
	d := &auditView{Table: t}
	if r.URL.Query().Has("verify") {
		d.Chain = new(wire.AuditChain)
		if err := k.get("/v1/admin/audit/verify", nil, d.Chain); err != nil {
			d.Chain, d.ChainProblem = nil, failureOf(err)
		}
	}
	return c.screen.show(w, r, s, "audit", &view{
		Title: "Audit", Section: "audit", Data: d,
		Actions: []link{{Label: "Verify the chain", Href: Root + "/audit?verify=1"}},
	})
}

// detailView is a page of facts and a text.
type detailView struct {
	Facts        []fact
	Label, Block string
}

// auditEntry shows one entry of the audit trail.
func (c *views) auditEntry(w http.ResponseWriter, r *http.Request, s *session) error {
	id, err := strconv.ParseInt(r.PathValue("id"), 10, 64)
	missing := &failure{
		Status: http.StatusNotFound, Code: "not_found", Message: "The audit trail has no such entry.",
		Next: nextSteps["not_found"],
	}
	if err != nil {
		return missing
	}
	var out wire.AuditEntries
	q := url.Values{"cursor": {strconv.FormatInt(id+1, 10)}, "limit": {"1"}} // entries before the cursor
	if err := c.caller.as(r, s).get("/v1/admin/audit", q, &out); err != nil {
		return err
	}
	if len(out.Entries) == 0 || out.Entries[0].ID != id {
		return missing
	}
	e := out.Entries[0]
	var detail bytes.Buffer
	if len(e.Detail) > 0 && json.Indent(&detail, e.Detail, "", "  ") != nil {
		detail.Write(e.Detail)
	}
	return c.screen.show(w, r, s, "detail", &view{
		Title: "Audit entry #" + strconv.FormatInt(id, 10), Section: "audit",
		Crumbs: []link{{Label: "Audit", Href: Root + "/audit"}},
		Data: &detailView{Label: "Detail", Block: detail.String(), Facts: []fact{
			{"Time", timeOf(e.At)},
			{"Who", text(e.Who)},
			{"Action", code(e.Action)},
			{"Target", targetOf(e.Target)},
			{"Reason", text(e.Reason)},
			{"Address", code(e.Address)},
			{"User agent", text(e.UserAgent)},
			{"Request id", idOf("", e.RequestID)},
		}},
	})
}

var letterList = &list[wire.DeadLetter]{
	name: "dead-letters", path: Root + "/dead-letters", cursor: "after",
	empty: "No dead letters: every record could be processed.",
	about: "Records that could not be applied to a ranking. The ledger has every increment. Remove the cause, then " +
		"requeue the record. Delete one that this server did not write.",
	columns: []column[wire.DeadLetter]{
		{"id", "Letter", func(l wire.DeadLetter) cell {
			return reference(Root+"/dead-letters/"+strconv.FormatInt(l.ID, 10), l.ID)
		}},
		{"reason", "Reason", func(l wire.DeadLetter) cell { return text(l.Reason) }},
		{"dead_lettered_at", "Time", func(l wire.DeadLetter) cell { return timeOf(l.DeadLetteredAt) }},
		{"topic", "Topic", func(l wire.DeadLetter) cell { return code(l.Topic) }},
		{"partition", "Partition", func(l wire.DeadLetter) cell { return number(int64(l.Partition)) }},
		{"offset", "Offset", func(l wire.DeadLetter) cell { return number(l.Offset) }},
		{"attempts", "Attempts", func(l wire.DeadLetter) cell { return number(int64(l.Attempts)) }},
	},
	fetch: func(k *call, q url.Values) ([]wire.DeadLetter, string, error) {
		var out wire.DeadLetters
		err := k.get("/v1/admin/dead-letters", q, &out)
		return out.Letters, cursorOf(out.NextAfter), err
	},
}

// deadLetters lists the dead letters.
func (c *views) deadLetters(w http.ResponseWriter, r *http.Request, s *session) error {
	t, done, err := tableOrExport(letterList, c.caller.as(r, s), w, r)
	if done || err != nil {
		return err
	}
	d := &rowActions{Table: t}
	for _, row := range t.Rows {
		d.Actions = append(d.Actions, letterActions(s, row[0].raw()))
	}
	return c.screen.show(w, r, s, "rows", &view{Title: "Dead letters", Section: "dead-letters", Data: d})
}

// letterActions end a dead letter.
func letterActions(s *session, id string) []link {
	return offer(s, changeLink("letter-requeue", "Requeue", "id", id), changeLink("letter-drop", "Delete", "id", id))
}

func letterFacts(l *wire.DeadLetter) []fact {
	return []fact{
		{"Reason", text(l.Reason)},
		{"Topic", code(l.Topic)},
		{"Partition", number(int64(l.Partition))},
		{"Offset", number(l.Offset)},
		{"Attempts", number(int64(l.Attempts))},
		{"Time", timeOf(l.DeadLetteredAt)},
	}
}

// deadLetter shows a dead letter with its payload.
func (c *views) deadLetter(w http.ResponseWriter, r *http.Request, s *session) error {
	id := r.PathValue("id")
	var l wire.DeadLetter
	if err := c.caller.as(r, s).get("/v1/admin/dead-letters/"+url.PathEscape(id), nil, &l); err != nil {
		return err
	}
	label, block := payload(l.Value)
	return c.screen.show(w, r, s, "detail", &view{
		Title: "Dead letter #" + strconv.FormatInt(l.ID, 10), Section: "dead-letters",
		Crumbs:  []link{{Label: "Dead letters", Href: Root + "/dead-letters"}},
		Data:    &detailView{Facts: letterFacts(&l), Label: label, Block: block},
		Actions: letterActions(s, id),
	})
}

// payload shows a record: JSON indented, other text as it is, anything else as base64.
func payload(value []byte) (label, block string) {
	var indented bytes.Buffer
	if json.Indent(&indented, value, "", "  ") == nil {
		return "Payload (JSON)", indented.String()
	}
	if utf8.Valid(value) && bytes.IndexFunc(value, func(r rune) bool {
		return !unicode.IsPrint(r) && r != '\n' && r != '\t'
	}) < 0 {
		return "Payload (text)", string(value)
	}
	return "Payload (base64)", base64.StdEncoding.EncodeToString(value)
}

var keyList = &list[wire.Key]{
	name: "keys", path: Root + "/keys", cursor: "cursor", empty: "No signing key. Create one for each game server.",
	columns: []column[wire.Key]{
		{"name", "Name", func(k wire.Key) cell { return text(k.Name) }},
		{"key_id", "Key", func(k wire.Key) cell { return idOf("", k.KeyID) }},
		{"state", "State", func(k wire.Key) cell { return badge(keyState(&k, time.Now())) }},
		{"boards", "Boards", func(k wire.Key) cell { return text(keyBoards(&k)) }},
		{"generation", "Secrets", func(k wire.Key) cell { return number(int64(k.Generation)) }},
		{"created_at", "Created", func(k wire.Key) cell { return timeOf(k.CreatedAt) }},
		{"expires_at", "Expires", func(k wire.Key) cell { return timeOrNone(k.ExpiresAt) }},
	},
	fetch: func(k *call, _ url.Values) ([]wire.Key, string, error) {
		var out wire.Keys
		err := k.get("/v1/admin/keys", nil, &out)
		return out.Keys, "", err
	},
}

func keyState(k *wire.Key, now time.Time) string {
	switch {
	case k.RevokedAt != nil:
		return "revoked"
	case k.ExpiresAt != nil && !now.Before(*k.ExpiresAt):
		return "expired"
	}
	return "valid"
}

func keyBoards(k *wire.Key) string {
	if len(k.Boards) == 0 {
		return "all"
	}
	return strings.Join(k.Boards, ", ")
}

// rowActions are the changes that a row of a table offers, beside it.
type rowActions struct {
	Table *tableView
	// Of each row, in the order of the table.
	Actions [][]link
}

// keys lists the signing keys.
func (c *views) keys(w http.ResponseWriter, r *http.Request, s *session) error {
	k := c.caller.as(r, s)
	if done, err := keyList.export(k, w, r); done {
		return err
	}
	t, err := keyList.view(k, r)
	if err != nil {
		return err
	}
	d := &rowActions{Table: t}
	for _, row := range t.Rows {
		var links []link
		if id := row[1].Raw; row[2].Text == "valid" {
			links = offer(
				s,
				changeLink("key-rotate", "Rotate", "key", id),
				changeLink("key-revoke", "Revoke", "key", id),
			)
		}
		d.Actions = append(d.Actions, links)
	}
	return c.screen.show(w, r, s, "rows", &view{
		Title: "Keys", Section: "keys", Data: d, Actions: offer(s, changeLink("key-create", "Create key")),
	})
}
