package scoreboard

import (
	"errors"
	"strings"
	"testing"
)

func TestAppearance(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		given Appearance
		field string // that is refused; "": none
	}{
		"nothing": {},
		"all": {
			given: Appearance{"Ring of fire", "Best lap, any car.", "#1E5Fd8", "https://a.example/b.png"},
		},
		"markup":                  {given: Appearance{Title: `<script>"'&`}},
		"several scripts":         {given: Appearance{Title: "Гонка / Race / レース 🏁"}},
		"a longest title":         {given: Appearance{Title: strings.Repeat("é", MaxTitle)}},
		"a longest description":   {given: Appearance{Description: strings.Repeat("d", 500)}},
		"a long title":            {given: Appearance{Title: strings.Repeat("t", MaxTitle+1)}, field: "title"},
		"a long description":      {given: Appearance{Description: strings.Repeat("d", 501)}, field: "description"},
		"a line break":            {given: Appearance{Description: "one\ntwo"}, field: "description"},
		"a direction mark":        {given: Appearance{Title: "a\u202Eb"}, field: "title"},
		"invalid UTF-8":           {given: Appearance{Title: "a\xff"}, field: "title"},
		"only a space":            {given: Appearance{Title: " "}, field: "title"},
		"a short colour":          {given: Appearance{Color: "#fff"}, field: "color"},
		"the name of a colour":    {given: Appearance{Color: "red"}, field: "color"},
		"a colour with a rule":    {given: Appearance{Color: "#ffffff;}"}, field: "color"},
		"an image by http":        {given: Appearance{Image: "http://cdn.example/a.png"}, field: "image"},
		"an image in the address": {given: Appearance{Image: "data:image/png;base64,AAAA"}, field: "image"},
		"credentials":             {given: Appearance{Image: "https://a:b@cdn.example/a.png"}, field: "image"},
		"a policy in the host":    {given: Appearance{Image: "https://cdn.example;script-src/a.png"}, field: "image"},
		"a list in the host":      {given: Appearance{Image: "https://cdn.example,evil/a.png"}, field: "image"},
		"a wildcard":              {given: Appearance{Image: "https://*/a.png"}, field: "image"},
		"a port":                  {given: Appearance{Image: "https://cdn.example:8443/a;b,c.png?x='"}},
		"a long image": {
			given: Appearance{Image: "https://a.example/" + strings.Repeat("a", 512)}, field: "image",
		},
	} {
		got := c.given
		err := got.Normalize()
		var field string
		if e := (*Error)(nil); errors.As(err, &e) {
			field = e.Field
		}
		if field != c.field {
			t.Errorf("%s: got %v, want the field %q", name, err, c.field)
		}
		if err == nil && got.Color != strings.ToLower(c.given.Color) {
			t.Errorf("%s: got the colour %q", name, got.Color)
		}
	}
	a := Appearance{Image: "https://cdn.example:8443/a;b?c"}
	if got := a.ImageOrigin(); got != "https://cdn.example:8443" {
		t.Errorf("got the origin %q", got)
	}
	change := AppearanceChange{Color: new("#ABCDEF"), Title: new("")}
	if err := change.Normalize(); err != nil || *change.Color != "#abcdef" || change.Image != nil {
		t.Errorf("got %v, %+v", err, change)
	}
	if (&AppearanceChange{Image: new("http://x")}).Normalize() == nil {
		t.Error("a change to an invalid image is accepted")
	}
}
