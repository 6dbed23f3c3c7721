package scoreboard

import (
	"net/url"
	"regexp"
	"strings"
	"unicode/utf8"
)

// Bounds of an appearance: characters of texts, bytes of an address.
const (
	MaxTitle       = 80
	MaxDescription = 500
	MaxImageURL    = MaxAvatarURL
)

// PatternColor is that of colours.
const PatternColor = "^#[0-9A-Fa-f]{6}$"

var (
	colorPattern = regexp.MustCompile(PatternColor)
	// Every other character of a host, such as a semicolon, would have a meaning in a policy of a page.
	imageHostPattern = regexp.MustCompile(`^[A-Za-z0-9.-]+(:[0-9]{1,5})?$`)
)

// Appearance is how pages show a board. Each field may be empty. The fields have tags because a store
// keeps it in a document.
type Appearance struct {
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	Color       string `json:"color,omitempty"` // #rrggbb in lower case
	Image       string `json:"image,omitempty"` // an https URL
}

// Normalize writes the colour in lower case, and validates the rest. It returns an invalid_request. Texts
// are one line of visible characters, as display names are, but of any scripts: operators write them.
func (a *Appearance) Normalize() error {
	a.Color = strings.ToLower(a.Color)
	for _, text := range []struct {
		field, value string
		limit        int
	}{{"title", a.Title, MaxTitle}, {"description", a.Description, MaxDescription}} {
		if !utf8.ValidString(text.value) || utf8.RuneCountInString(text.value) > text.limit {
			return Invalid(text.field, "%s must be at most %d characters", text.field, text.limit)
		}
		if err := checkLine(text.field, text.value); err != nil {
			return err
		}
	}
	if a.Color != "" && !colorPattern.MatchString(a.Color) {
		return Invalid("color", "color must have the form #rrggbb, such as #1e5fd8")
	}
	if err := checkHTTPSURL("image", a.Image, MaxImageURL); err != nil {
		return err
	}
	if a.Image != "" && !imageHostPattern.MatchString(hostOf(a.Image)) {
		return Invalid("image", "image must be an https URL with a host of the characters A-Z a-z 0-9 . and -")
	}
	return nil
}

// ImageOrigin is the origin that the image is loaded from, for a policy; "" without an image.
func (a *Appearance) ImageOrigin() string {
	if a.Image == "" {
		return ""
	}
	return "https://" + hostOf(a.Image)
}

func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Host
}

// AppearanceChange is a change of an appearance. What is nil stays as it is, and "" removes it.
type AppearanceChange struct{ Title, Description, Color, Image *string }

// Normalize is that of Appearance, for what is changed.
func (c *AppearanceChange) Normalize() error {
	var a Appearance
	fields := map[*string]*string{
		&a.Title: c.Title, &a.Description: c.Description, &a.Color: c.Color, &a.Image: c.Image,
	}
	for to, value := range fields {
		if value != nil {
			*to = *value
		}
	}
	if err := a.Normalize(); err != nil {
		return err
	}
	if c.Color != nil {
		c.Color = &a.Color
	}
	return nil
}
