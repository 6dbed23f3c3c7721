package design

import (
	"fmt"
	"strings"
	"testing"
)

// Any colour of a board is readable in both themes, on every background, and so is text on it. One that
// is readable already stays as it is.
func TestAccentOfAnyColour(t *testing.T) {
	t.Parallel()
	for theme, p := range map[string]Palette{"dark": Dark, "light": Light} {
		for n := 0; n < 1<<24; n += 40503 {
			given := fmt.Sprintf("#%06x", n)
			got := p.WithAccent(given)
			for _, on := range []string{p.Page, p.Raised, p.Sunken, p.OnAccent} {
				if c := contrast(t, got.Accent, on); c < 4.5 {
					t.Fatalf("%s: %s became %s, which has a contrast of %.2f to %s", theme, given, got.Accent, c, on)
				}
			}
		}
		for _, kept := range []string{p.Accent, p.Text} {
			if got := p.WithAccent(kept).Accent; got != kept {
				t.Errorf("%s: %s became %s", theme, kept, got)
			}
		}
	}
	if got, want := AccentCSS("#ffffff"), "light-dark(#7"; !strings.Contains(string(got), want) ||
		!strings.Contains(string(got), ", #ffffff);") {
		t.Errorf("got %s, want white, and a grey on white", got)
	}
	for _, bad := range []string{"", "red", "#fff", "#12345g", "#1234567", "#fffff;"} {
		if AccentCSS(bad) != "" || Light.WithAccent(bad) != Light {
			t.Errorf("%q is taken for a colour", bad)
		}
	}
}
