package design

import (
	"fmt"
	"math"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestContrast computes the contrast of every colour on every background that it may stand on.
func TestContrast(t *testing.T) {
	t.Parallel()
	backgrounds := []string{"Page", "Raised", "Sunken"}
	// Colours that carry no text and no meaning of their own.
	decorative := []string{"Border", "Frame", "BarFrom", "Shadow", "OnAccent", "ChipText", "ChipBackdrop", "Selected"}
	outlines := []string{"Edge", "Blue", "Orange", "Green", "Purple", "Yellow", "Grey", "BarTo"}
	for theme, p := range map[string]Palette{"dark": Dark, "light": Light} {
		v := reflect.ValueOf(p)
		colour := func(field string) string { return v.FieldByName(field).String() }
		check := func(text, on string, minimum float64) {
			if got := contrast(t, colour(text), colour(on)); got < minimum {
				t.Errorf("%s: %s on %s has a contrast of %.2f, want %.1f", theme, text, on, got, minimum)
			}
		}
		for i := range v.NumField() {
			field := v.Type().Field(i).Name
			if strings.HasSuffix(field, "Soft") || slices.Contains(append(backgrounds, decorative...), field) {
				continue
			}
			minimum := 4.5
			if slices.Contains(outlines, field) {
				minimum = 3
			}
			for _, on := range backgrounds {
				check(field, on, minimum)
			}
		}
		check("Text", "Selected", 4.5)
		check("OnAccent", "Accent", 4.5)
		check("ChipText", "ChipBackdrop", 4.5)
		for _, status := range []string{"Good", "Warn", "Bad"} {
			check(status, status+"Soft", 4.5)
			check("Text", status+"Soft", 4.5)
		}
	}
}

// contrast is the contrast ratio of WCAG 2.2.
func contrast(t *testing.T, a, b string) float64 {
	t.Helper()
	light, dark := luminanceOf(t, a), luminanceOf(t, b)
	if light < dark {
		light, dark = dark, light
	}
	return (light + 0.05) / (dark + 0.05)
}

// luminanceOf is the relative luminance of WCAG 2.2.
func luminanceOf(t *testing.T, colour string) float64 {
	t.Helper()
	n, err := strconv.ParseUint(strings.TrimPrefix(colour, "#"), 16, 32)
	if err != nil || len(colour) != 7 {
		t.Fatalf("%q is not a colour of the form #rrggbb", colour)
	}
	channel := func(c uint64) float64 {
		s := float64(c&0xff) / 255
		if s <= 0.04045 {
			return s / 12.92
		}
		return math.Pow((s+0.055)/1.055, 2.4)
	}
	return 0.2126*channel(n>>16) + 0.7152*channel(n>>8) + 0.0722*channel(n)
}

func TestContrastOfKnownPairs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		want float64
	}{{"#000000", "#ffffff", 21}, {"#777777", "#ffffff", 4.48}, {"#ffffff", "#ffffff", 1}} {
		if got := contrast(t, c.a, c.b); math.Abs(got-c.want) > 0.01 {
			t.Errorf("%s on %s: got %.3f, want %.2f", c.a, c.b, got, c.want)
		}
	}
}

func TestStyleSheet(t *testing.T) {
	t.Parallel()
	css := string(CSS())
	for _, want := range []string{
		"  --good-soft: light-dark(" + Light.GoodSoft + ", " + Dark.GoodSoft + ");\n",
		"  --on-accent: light-dark(", "  --size-m: 1rem;\n", ":root[data-theme=dark] { color-scheme: dark; }\n",
	} {
		if !strings.Contains(css, want) {
			t.Errorf("no %q in:\n%s", want, css)
		}
	}
}

// The rank of the first three can be read on its medal, which rows.css mixes from the rank's colour.
func TestContrastOfMedals(t *testing.T) {
	t.Parallel()
	css, err := os.ReadFile("../../server/http/pages/assets/rows.css")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`background: color-mix\(in srgb, currentColor (\d+)%, var\(--raised\)\)`).
		FindSubmatch(css)
	if found == nil {
		t.Fatal("rows.css has no medals")
	}
	share, err := strconv.Atoi(string(found[1]))
	if err != nil {
		t.Fatal(err)
	}
	for theme, p := range map[string]Palette{"dark": Dark, "light": Light} {
		for name, text := range map[string]string{"gold": p.Gold, "silver": p.Silver, "bronze": p.Bronze} {
			medal := mix(t, text, p.Raised, share)
			if got := contrast(t, text, medal); got < 4.5 {
				t.Errorf("%s: %s on its medal %s has a contrast of %.2f, want 4.5", theme, name, medal, got)
			}
		}
	}
}

// mix is a colour with a share of another one, in percent.
func mix(t *testing.T, a, b string, share int) string {
	t.Helper()
	mixed := "#"
	for i := 1; i < len(a); i += 2 {
		x, err := strconv.ParseInt(a[i:i+2], 16, 0)
		if err != nil {
			t.Fatal(err)
		}
		y, err := strconv.ParseInt(b[i:i+2], 16, 0)
		if err != nil {
			t.Fatal(err)
		}
		mixed += fmt.Sprintf("%02x", (int(x)*share+int(y)*(100-share)+50)/100)
	}
	return mixed
}
