package design

import (
	"fmt"
	"html/template"
	"math"
	"strconv"
)

// minContrast is that of text on its background (WCAG 2.2, success criterion 1.4.3).
const minContrast = 4.5

// WithAccent returns the palette with a colour, as #rrggbb, in place of its accent. If the colour is hard to
// read on a background of the palette, it is mixed with the text's extreme, white or black, until it is not.
// What is readable on the palette's accent then is on this one: that has the colour of a background.
// A text of another form leaves the palette as it is.
func (p Palette) WithAccent(colour string) Palette {
	rgb, ok := channels(colour)
	if !ok {
		return p
	}
	end := 0.0
	if luminance(p.Page) < luminance(p.Text) {
		end = 255
	}
	const steps = 64
	for step := range steps + 1 {
		share := float64(step) / steps
		mixed := "#"
		for _, c := range rgb {
			mixed += fmt.Sprintf("%02x", int(math.Round(c+(end-c)*share)))
		}
		p.Accent = mixed
		if min(ratio(mixed, p.Page), ratio(mixed, p.Raised), ratio(mixed, p.Sunken)) >= minContrast {
			break
		}
	}
	return p
}

// AccentCSS returns the declaration of --accent for a colour, as #rrggbb, in both themes; "" for a text of
// another form.
func AccentCSS(colour string) template.CSS {
	if _, ok := channels(colour); !ok {
		return ""
	}
	return template.CSS(fmt.Sprintf("--accent: light-dark(%s, %s);", //nolint:gosec // made of numbers
		Light.WithAccent(colour).Accent, Dark.WithAccent(colour).Accent))
}

// channels are the red, green and blue of a colour, 0 to 255.
func channels(colour string) (rgb [3]float64, ok bool) {
	if len(colour) != 7 || colour[0] != '#' {
		return rgb, false
	}
	n, err := strconv.ParseUint(colour[1:], 16, 32)
	if err != nil {
		return rgb, false
	}
	for i := range rgb {
		rgb[i] = float64(n >> (16 - 8*i) & 0xff)
	}
	return rgb, true
}

// ratio is the contrast ratio of WCAG 2.2, 1 to 21.
func ratio(a, b string) float64 {
	light, dark := luminance(a), luminance(b)
	return (max(light, dark) + 0.05) / (min(light, dark) + 0.05)
}

// luminance is the relative luminance of WCAG 2.2, 0 to 1.
func luminance(colour string) float64 {
	rgb, _ := channels(colour)
	sum := 0.0
	for i, weight := range [3]float64{0.2126, 0.7152, 0.0722} {
		s := rgb[i] / 255
		if s <= 0.04045 {
			s /= 12.92
		} else {
			s = math.Pow((s+0.055)/1.055, 2.4)
		}
		sum += weight * s
	}
	return sum
}
