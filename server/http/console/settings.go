package console

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/scoreboard/scoreboard/client/wire"
)

// settingGroup is the settings with one prefix.
type settingGroup struct {
	Name     string
	Settings []settingRow
}

type settingRow struct {
	wire.Setting
	Change, Reset link
}

type settingsView struct {
	Query, Source, Section string
	Shown, All             int
	Sources                []settingChoice
	Sections               []settingChoice
	Groups                 []settingGroup
	Under                  tableView // the links below
}

// settingChoice is a part of the settings, with how many match the text that is searched for.
type settingChoice struct {
	Value, Label string
	Count        int
	Href         string
}

// settingSources are the parts of the settings by where a value is from.
var settingSources = []settingChoice{
	{Label: "all"},
	{Value: "live", Label: "can be changed here"},
	{Value: "changed", Label: "not the default"},
	{Value: "store", Label: "changed by operators"},
}

// settingList is only exported; the page groups the settings.
var settingList = &list[wire.Setting]{
	name: "settings", path: Root + "/settings", cursor: "cursor",
	filters: []filter{{Name: "name"}, {Name: "source"}, {Name: "section"}},
	columns: []column[wire.Setting]{
		{"name", "Name", func(s wire.Setting) cell { return code(s.Name) }},
		{"value", "Value", func(s wire.Setting) cell { return code(s.Value) }},
		{"source", "Source", func(s wire.Setting) cell { return text(s.Source) }},
		{"meaning", "Meaning", func(s wire.Setting) cell { return text(s.Meaning) }},
	},
	fetch: func(k *call, q url.Values) ([]wire.Setting, string, error) {
		var all wire.Settings
		if err := k.get("/v1/admin/settings", nil, &all); err != nil {
			return nil, "", err
		}
		return slices.DeleteFunc(all.Settings, func(s wire.Setting) bool {
			return !matchesSetting(&s, q.Get("name"), q.Get("source"), q.Get("section"))
		}), "", nil
	},
}

// matchesSetting reports whether a setting has a text in its name or meaning, and is of a source and section; ""
// for all of them.
func matchesSetting(s *wire.Setting, text, source, section string) bool {
	switch source {
	case "":
	case "live":
		if !s.Live {
			return false
		}
	case "changed":
		if s.Source == "default" {
			return false
		}
	default:
		if s.Source != source {
			return false
		}
	}
	return (section == "" || sectionOf(s) == section) && (contains(s.Name, text) || contains(s.Meaning, text))
}

// sectionOf is the part of a setting's name before the dot.
func sectionOf(s *wire.Setting) string {
	section, _, found := strings.Cut(s.Name, ".")
	if !found {
		return "general"
	}
	return section
}

// settings shows what each setting means, its value, and where it is from.
func (c *views) settings(w http.ResponseWriter, r *http.Request, s *session) error {
	k := c.caller.as(r, s)
	if done, err := settingList.export(k, w, r); done {
		return err
	}
	all, _, err := settingList.fetch(k, nil)
	if err != nil {
		return err
	}
	q := settingList.parameters(r)
	t := newSettingsView(all, q)
	for _, format := range []string{"csv", "ndjson"} {
		q.Set("export", format)
		if format == "csv" {
			t.Under.CSV = settingList.path + "?" + q.Encode()
		} else {
			t.Under.NDJSON = settingList.path + "?" + q.Encode()
		}
	}
	for _, one := range all {
		if !matchesSetting(&one, t.Query, t.Source, t.Section) {
			continue
		}
		t.Shown++
		row := settingRow{Setting: one}
		if links := offer(s, changeLink("setting-set", "Change", "name", one.Name, "value", one.Value),
			changeLink("setting-reset", "Reset", "name", one.Name)); one.Live && links != nil {
			row.Change = links[0]
			if one.Source == "store" {
				row.Reset = links[1]
			}
		}
		group := sectionOf(&one)
		i := slices.IndexFunc(t.Groups, func(g settingGroup) bool { return g.Name == group })
		if i < 0 {
			t.Groups = append(t.Groups, settingGroup{Name: group})
			i = len(t.Groups) - 1
		}
		t.Groups[i].Settings = append(t.Groups[i].Settings, row)
	}
	return c.screen.show(w, r, s, "settings", &view{Title: "Settings", Section: "settings", Data: t})
}

// newSettingsView counts the settings of each source and section that match the text of a request.
func newSettingsView(all []wire.Setting, q url.Values) *settingsView {
	t := &settingsView{Query: q.Get("name"), Source: q.Get("source"), Section: q.Get("section"), All: len(all)}
	count := func(source, section string) (n int) {
		for i := range all {
			if matchesSetting(&all[i], t.Query, source, section) {
				n++
			}
		}
		return n
	}
	for _, c := range settingSources {
		c.Count = count(c.Value, t.Section)
		t.Sources = append(t.Sources, c)
	}
	for i := range all {
		name := sectionOf(&all[i])
		if slices.ContainsFunc(t.Sections, func(c settingChoice) bool { return c.Value == name }) {
			continue
		}
		set := maps.Clone(q)
		set.Set("section", name)
		t.Sections = append(t.Sections, settingChoice{
			Value: name, Label: name, Count: count(t.Source, name), Href: settingList.path + "?" + set.Encode(),
		})
	}
	set := maps.Clone(q)
	set.Del("section")
	t.Sections = slices.Insert(t.Sections, 0, settingChoice{
		Label: "all", Count: count(t.Source, ""), Href: settingList.path + "?" + set.Encode(),
	})
	return t
}
