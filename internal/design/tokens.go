// Package design holds the colours and sizes of everything scoreboard shows: the terminal
// screens, the web pages, the console and the reports. It also serves the files that pages load:
// scripts, styles and pictures that are embedded in the binary. The name of a file has a hash of
// its content, so that browsers and caches can keep it indefinitely, and a new version has a new
// name.
package design

// Palette is a set of colours for one kind of background, each as #rrggbb.
type Palette struct {
	Page, Raised, Sunken   string // backgrounds: of the page, of cards, of inputs and code
	Border, Edge, Frame    string // decorative lines; outlines of inputs and buttons; boxes on a terminal
	Text, Dim              string // body text; secondary text
	Accent, OnAccent       string // links and buttons; text on an accent background
	Selected               string // the background of a selected row
	Good, Warn, Bad        string // statuses, as text
	GoodSoft, WarnSoft     string // backgrounds of statuses
	BadSoft                string
	Gold, Silver, Bronze   string // the first three ranks, as text
	Up, Down, Added        string // ranks gained and lost, new entries
	Changed                string // a score that has just changed
	BarFrom, BarTo         string // the ends of a bar's gradient
	Blue, Orange, Green    string // lines of charts; they can be told apart without colour vision
	Purple, Yellow, Grey   string
	Shadow                 string // of floating elements; CSS only, with an opacity
	ChipText, ChipBackdrop string // a short label that must be seen
}

// Dark and Light are the two themes. Texts have a contrast of at least 4.5:1 on all three
// backgrounds (WCAG 2.2, success criterion 1.4.3), outlines and chart lines of 3:1 (1.4.11).
var (
	Dark = Palette{
		Page: "#101218", Raised: "#171a22", Sunken: "#0b0d12",
		Border: "#2a2e3b", Edge: "#6b7189", Frame: "#494d64",
		Text: "#cdd6f4", Dim: "#9298b3",
		Accent: "#8aadf4", OnAccent: "#101218", Selected: "#363a4f",
		Good: "#a6da95", Warn: "#eed49f", Bad: "#ed8796",
		GoodSoft: "#1b2a1f", WarnSoft: "#2e2717", BadSoft: "#331c22",
		Gold: "#eed49f", Silver: "#b8c0e0", Bronze: "#e0a37e",
		Up: "#a6da95", Down: "#ed8796", Added: "#8bd5ca", Changed: "#f5a97f",
		BarFrom: "#3e5a8c", BarTo: "#7dc4e4",
		Blue: "#56b4e9", Orange: "#f08b3c", Green: "#2fc79a", Purple: "#c6a0f6", Yellow: "#f0d05c", Grey: "#9aa0a6",
		Shadow: "#000000", ChipText: "#1e2030", ChipBackdrop: "#eed49f",
	}
	Light = Palette{
		Page: "#ffffff", Raised: "#ffffff", Sunken: "#f5f6fa",
		Border: "#e2e5ee", Edge: "#82869c", Frame: "#bcc0cc",
		Text: "#2a2d42", Dim: "#5f6379",
		Accent: "#1e5fd8", OnAccent: "#ffffff", Selected: "#dfe3ee",
		Good: "#2a7030", Warn: "#8a5700", Bad: "#b8203a",
		GoodSoft: "#e8f5e9", WarnSoft: "#fff4dc", BadSoft: "#fdecef",
		Gold: "#8a5700", Silver: "#5c5f77", Bronze: "#a04a1c",
		Up: "#2a7030", Down: "#b8203a", Added: "#0b6d74", Changed: "#b83d0a",
		BarFrom: "#b3c7f0", BarTo: "#1e66c8",
		Blue: "#0072b2", Orange: "#d55e00", Green: "#00845f", Purple: "#7a3fc4", Yellow: "#8f7400", Grey: "#6b6f75",
		Shadow: "#1b2140", ChipText: "#1e2030", ChipBackdrop: "#eed49f",
	}
)

// sizes are the tokens that do not depend on the theme, in the order of the style sheet:
// one type scale (major third), one scale of distances, one of radii.
var sizes = [][2]string{
	{"sans", `system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif`},
	{"mono", "ui-monospace, SFMono-Regular, Menlo, Consolas, monospace"},
	{"size-xs", ".75rem"},
	{"size-s", ".875rem"},
	{"size-m", "1rem"},
	{"size-l", "1.25rem"},
	{"size-xl", "1.5625rem"},
	{"size-2xl", "1.953rem"},
	{"size-3xl", "2.441rem"},
	{"gap-xs", ".25rem"},
	{"gap-s", ".5rem"},
	{"gap-m", "1rem"},
	{"gap-l", "1.5rem"},
	{"gap-xl", "2.5rem"},
	{"radius-s", ".375rem"},
	{"radius-m", ".625rem"},
	{"radius-l", "1rem"},
	{"fast", "120ms"},
	{"slow", "400ms"},
}
