package console

import (
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
	Query, Source string
	Shown, All    int
	Groups        []settingGroup
	Under         tableView // the links below
}

// settingList is only exported; the page groups the settings.
var settingList = &list[wire.Setting]{
	name: "settings", path: Root + "/settings", cursor: "cursor",
	filters: []filter{{Name: "name"}, {Name: "source"}},
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
		name, source := strings.ToLower(q.Get("name")), q.Get("source")
		return slices.DeleteFunc(all.Settings, func(s wire.Setting) bool {
			matches := strings.Contains(s.Name, name) || strings.Contains(strings.ToLower(s.Meaning), name)
			switch source {
			case "":
			case "live":
				matches = matches && s.Live
			case "changed":
				matches = matches && s.Source != "default"
			default:
				matches = matches && s.Source == source
			}
			return !matches
		}), "", nil
	},
}

// settings shows what each setting means, its value, and where it is from.
func (c *views) settings(w http.ResponseWriter, r *http.Request, s *session) error {
	k := c.caller.as(r, s)
	if done, err := settingList.export(k, w, r); done {
		return err
	}
	found, _, err := settingList.fetch(k, settingList.parameters(r))
	if err != nil {
		return err
	}
	t, q := &settingsView{
		Query:  r.URL.Query().Get("name"),
		Source: r.URL.Query().Get("source"),
		Shown:  len(found),
	}, url.Values{}
	for _, name := range []string{"name", "source"} {
		if v := r.URL.Query().Get(name); v != "" {
			q.Set(name, v)
		}
	}
	for _, format := range []string{"csv", "ndjson"} {
		q.Set("export", format)
		if format == "csv" {
			t.Under.CSV = settingList.path + "?" + q.Encode()
		} else {
			t.Under.NDJSON = settingList.path + "?" + q.Encode()
		}
	}
	for _, one := range found {
		row := settingRow{Setting: one}
		if links := offer(s, changeLink("setting-set", "Change", "name", one.Name, "value", one.Value),
			changeLink("setting-reset", "Reset", "name", one.Name)); one.Live && links != nil {
			row.Change = links[0]
			if one.Source == "store" {
				row.Reset = links[1]
			}
		}
		group, _, _ := strings.Cut(one.Name, ".")
		i := slices.IndexFunc(t.Groups, func(g settingGroup) bool { return g.Name == group })
		if i < 0 {
			t.Groups = append(t.Groups, settingGroup{Name: group})
			i = len(t.Groups) - 1
		}
		t.Groups[i].Settings = append(t.Groups[i].Settings, row)
	}
	return c.screen.show(w, r, s, "settings", &view{Title: "Settings", Section: "settings", Data: t})
}
