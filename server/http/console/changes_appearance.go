package console

import (
	"net/url"

	"github.com/scoreboard/scoreboard/client/wire"
)

// appearanceChanges change how pages show boards.
func appearanceChanges() []*change {
	fields := []string{"title", "description", "color", "image"}
	return []*change{{
		name:    "board-appearance",
		title:   "Change appearance",
		verb:    "Change board",
		section: "boards",
		action:  "board.set",
		intro:   "Sets how the public pages show the board and all its periods.",
		done:    "The board is changed.",
		fields: []field{
			{Name: "board", Label: "Board", Kind: "hidden"},
			{Name: "title", Label: "Title", Kind: "text", Hint: "Instead of the name, up to 80 characters."},
			{
				Name: "description", Label: "Description", Kind: "text",
				Hint: "Plain text below the title, up to 500 characters.",
			},
			{
				Name: "color", Label: "Colour", Kind: "text",
				Hint: "Of links and marks, as #rrggbb. Pages change its lightness where it would be hard to read.",
			},
			{
				Name: "image", Label: "Image", Kind: "text",
				Hint: "The https URL of a square picture. Visitors' browsers load it from there.",
			},
		},
		effect: func(v url.Values) string {
			return "The pages of " + v.Get("board") + " show this within seconds; what is empty is removed. " +
				"Scores do not change."
		},
		command: func(v url.Values) []string {
			words := []string{"board", "set", v.Get("board")}
			for _, name := range fields {
				words = append(words, "--"+name, v.Get(name))
			}
			return words
		},
		request: func(v url.Values) (request, error) {
			return request{ids: boardIDs(v), query: reasonQuery(v), body: wire.BoardChange{
				Title: new(v.Get("title")), Description: new(v.Get("description")), Color: new(v.Get("color")),
				Image: new(v.Get("image")),
			}}, nil
		},
		back: func(v url.Values) string { return boardHref(v.Get("board")) },
	}}
}
