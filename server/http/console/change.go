package console

import (
	"cmp"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
)

// change is something that a person may change: a form, its review and the request of the
// API that applies it.
type change struct {
	name, title string
	verb        string // on the button that applies it
	section     string
	danger      bool
	action      string // of its audit entries, which the API's routes name too; "": not audited
	route       string // "POST /v1/…", where action does not say which route makes the change
	intro       string // what it does, in the form
	done        string // what it has done
	fields      []field
	// effect says what will happen; for changes whose dry run the API does not have, all of it.
	effect func(v url.Values) string
	// dryRun asks the API what would happen; nil where the API has no dry run.
	dryRun func(k *call, v url.Values) ([]fact, error)
	// command is the command of sbctl that does the same, as words without the program.
	command func(v url.Values) []string
	request func(v url.Values) (request, error)
	// back is the page to return to.
	back func(v url.Values) string
	// after returns the page that follows instead of back; nil for back.
	after func(v url.Values, answer json.RawMessage) string
	// secret shows the answer once instead of leading on: it has a secret.
	secret bool
	job    bool // runs as a job
	// then goes on with the answer beyond the request, and returns the page to follow it; nil
	// where the answer is the end.
	then func(c *changeForms, k *call, v url.Values, answer json.RawMessage) (string, error)
}

// operation is what the table of the API's routes calls the change.
func (ch *change) operation() string { return cmp.Or(ch.route, ch.action) }

// request is what a change gives to an operation of the API.
type request struct {
	ids   []string // that the path names, in its order
	query url.Values
	body  any
}

// field is an input of a form.
type field struct {
	Name, Label, Hint string
	Kind              string // text, number, choice, check, time, file; hidden: given by the page that leads here
	Options           []string
	Required          bool
	Value             string
}

const (
	reasonField = "reason"
	stepField   = "step"
)

// changeView is the form of a change, or its review.
type changeView struct {
	Name, Title, Verb, Intro string
	Danger                   bool
	Fields                   []field
	Fixed                    []fact
	Reason                   string
	Back                     string
	Review                   bool
	Effect, Command          string
	DryRun                   []fact
	DryRunAPI                bool
	Problem                  *failure
	Hidden                   []field
	Upload                   bool // has a file
}

// fileNameSuffix is added to the name of a field for that of its file.
const fileNameSuffix = "_name"

// file returns the name of the field that is a file; "" for none.
func (ch *change) file() string {
	for _, f := range ch.fields {
		if f.Kind == "file" {
			return f.Name
		}
	}
	return ""
}

// findChange returns the change of a request, and whether the session may make it.
func findChange(r *http.Request, s *session) (*change, error) {
	ch := changes[r.PathValue("change")]
	if ch == nil {
		return nil, &failure{
			Status: http.StatusNotFound, Code: "not_found", Message: "The console has no such change.",
			Next: "Choose a page from the menu.",
		}
	}
	if scope := s.scopeOf(ch.operation()); !s.May(scope) {
		return nil, lacks(scope)
	}
	return ch, nil
}

// changeForms shows the forms of changes, and makes the changes.
type changeForms struct {
	screen     *renderer
	caller     *caller
	background *background
	imports    *importRuns
}

// changeForm shows the form of a change, filled in from the query.
func (c *changeForms) changeForm(w http.ResponseWriter, r *http.Request, s *session) error {
	ch, err := findChange(r, s)
	if err != nil {
		return err
	}
	return c.showChange(w, r, s, http.StatusOK, ch, ch.view(r.URL.Query()))
}

func (c *changeForms) showChange(
	w http.ResponseWriter, r *http.Request, s *session, status int, ch *change, v *changeView,
) error {
	c.screen.render(w, r, status, "change", &view{
		Title:   ch.title,
		Section: ch.section,
		Session: s,
		Crumbs:  []link{{Label: sectionLabel(ch.section), Href: v.Back}},
		Data:    v,
	})
	return nil
}

func sectionLabel(name string) string {
	for _, s := range sections {
		if s.Name == name {
			return s.Label
		}
	}
	return ""
}

// view returns the form with values.
func (ch *change) view(v url.Values) *changeView {
	out := &changeView{
		Name: ch.name, Title: ch.title, Verb: ch.verb, Intro: ch.intro, Danger: ch.danger, Back: ch.back(v),
		Reason: v.Get(reasonField), Upload: ch.file() != "",
	}
	for _, f := range ch.fields {
		f.Value = cmp.Or(v.Get(f.Name), f.Value)
		if f.Kind == "hidden" {
			out.Hidden = append(out.Hidden, f)
			out.Fixed = append(out.Fixed, fact{f.Label, code(f.Value)})
			continue
		}
		out.Fields = append(out.Fields, f)
	}
	return out
}

// values returns the fields of a submitted form, without others.
func (ch *change) values(form url.Values) url.Values {
	v := url.Values{}
	for _, f := range ch.fields {
		if text := strings.TrimSpace(form.Get(f.Name)); text != "" {
			v.Set(f.Name, text)
		}
		if f.Kind == "file" {
			v.Set(f.Name+fileNameSuffix, form.Get(f.Name+fileNameSuffix))
		}
	}
	v.Set(reasonField, strings.TrimSpace(form.Get(reasonField)))
	return v
}

// check returns what is missing in a form.
func (ch *change) check(v url.Values) error {
	missing := func(name, label string) error {
		return &failure{
			Status:  http.StatusUnprocessableEntity,
			Code:    "invalid_request",
			Field:   name,
			Message: label + " is missing.",
			Next:    "Fill it in and submit the form again.",
		}
	}
	for _, f := range ch.fields {
		if (f.Required || f.Kind == "hidden") && v.Get(f.Name) == "" {
			return missing(f.Name, f.Label)
		}
	}
	if v.Get(reasonField) == "" {
		return missing(reasonField, "The reason")
	}
	return nil
}

// applyChange reviews a submitted form, or applies it once it was reviewed.
func (c *changeForms) applyChange(w http.ResponseWriter, r *http.Request, s *session) error {
	ch, err := findChange(r, s)
	if err != nil {
		return err
	}
	values := ch.values(r.PostForm)
	k := c.caller.as(r, s)
	shown := ch.view(values)
	reject := func(err error) error {
		f := failureOf(err)
		if f.Status == http.StatusUnauthorized {
			return err
		}
		shown.Problem = f
		return c.showChange(w, r, s, f.Status, ch, shown)
	}
	if err := ch.check(values); err != nil {
		return reject(err)
	}
	q, err := ch.request(values)
	if err != nil {
		return reject(err)
	}
	if r.PostForm.Get(stepField) != "apply" {
		shown.DryRunAPI = ch.dryRun != nil
		if ch.dryRun != nil {
			if shown.DryRun, err = ch.dryRun(k, values); err != nil {
				return reject(err)
			}
		}
		shown.Review, shown.Effect = true, ch.effect(values)
		shown.Command = ch.commandLine(values)
		for _, f := range shown.Fields {
			switch {
			case f.Value == "":
			case f.Kind == "file":
				name := values.Get(f.Name + fileNameSuffix)
				shown.Hidden = append(shown.Hidden, field{Name: f.Name + fileNameSuffix, Value: name})
				shown.Fixed = append(shown.Fixed, fact{f.Label, text(name + ", " + formatBytes(int64(len(f.Value))))})
			default:
				shown.Fixed = append(shown.Fixed, fact{f.Label, text(f.Value)})
			}
		}
		shown.Hidden = append(shown.Hidden, shown.Fields...)
		return c.showChange(w, r, s, http.StatusOK, ch, shown)
	}
	if ch.job {
		id, err := c.startJob(k, ch.operation(), q)
		if err != nil {
			return reject(err)
		}
		http.Redirect(w, r, Root+"/jobs/"+id, http.StatusSeeOther) //nolint:gosec // a number that the API made
		return nil
	}
	var answer json.RawMessage
	if err := k.operate(ch.operation(), q, &answer); err != nil {
		return reject(err)
	}
	if ch.secret {
		return c.showSecret(w, r, s, ch, answer)
	}
	if ch.then != nil {
		next, err := ch.then(c, k, values, answer)
		if err != nil {
			return reject(err)
		}
		http.Redirect(w, r, next, http.StatusSeeOther)
		return nil
	}
	next := ch.back(values)
	if ch.after != nil {
		next = ch.after(values, answer)
	}
	separator := "?"
	if strings.Contains(next, "?") {
		separator = "&"
	}
	http.Redirect(w, r, next+separator+"done="+ch.name, http.StatusSeeOther)
	return nil
}

// commandLine returns the command of sbctl that does the same, quoted for a shell. Without
// an audit entry it takes no reason.
func (ch *change) commandLine(v url.Values) string {
	words := ch.command(v)
	if ch.action != "" {
		words = append(words, "--reason", v.Get(reasonField))
	}
	return commandLine(words)
}

// commandLine returns a command of sbctl, quoted for a shell.
func commandLine(words []string) string {
	out := "sbctl"
	for _, w := range words {
		out += " " + quoteWord(w)
	}
	return out
}

// quoteWord quotes a word for a shell if it needs it.
func quoteWord(w string) string {
	plain := strings.IndexFunc(w, func(r rune) bool {
		return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._:@-/+,=", r)
	}) < 0
	if plain && w != "" {
		return w
	}
	return "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
}

// secretView is a secret that is shown once, and whose it is.
type secretView struct {
	Facts        []fact
	Secret, Back string
}

// showSecret shows the answer of a change that has a secret, once.
func (c *changeForms) showSecret(
	w http.ResponseWriter, r *http.Request, s *session, ch *change, answer json.RawMessage,
) error {
	var made struct {
		KeyID     string `json:"key_id"`
		Name      string `json:"name"`
		WebhookID string `json:"webhook_id"`
		URL       string `json:"url"`
		Secret    string `json:"secret"`
	}
	if err := json.Unmarshal(answer, &made); err != nil {
		return err
	}
	d := secretView{Secret: made.Secret, Back: Root + "/keys", Facts: []fact{
		{"Name", text(made.Name)}, {"Key", code(made.KeyID)},
	}}
	if made.WebhookID != "" {
		d.Back = webhookHref(made.WebhookID)
		d.Facts = []fact{{"Address", text(made.URL)}, {"Webhook", code(made.WebhookID)}}
	}
	c.screen.render(w, r, http.StatusOK, "secret", &view{
		Title: "Copy the secret now", Section: ch.section, Session: s, Confirmation: ch.done,
		Audit: Root + "/audit?" + url.Values{"action": {ch.action}}.Encode(), Data: d,
	})
	return nil
}
