package tui

import (
	"strings"

	"github.com/charmbracelet/bubbles/help"
	"github.com/charmbracelet/bubbles/key"
	"github.com/charmbracelet/x/ansi"
)

// keyMap holds the keys of the screen, with their help.
type keyMap struct {
	help, board, period, find, me, pause, copy, status, activity, actions, close, quit key.Binding
	flags, jobs, letters                                                               key.Binding
	up, down, pageUp, pageDown, top, bottom, open, dismiss                             key.Binding
	earlier, later, faster, slower                                                     key.Binding // of a playback
}

var keys = keyMap{
	help:     bind("?", "help", "?", "h"),
	board:    bind("b", "switch board", "b"),
	period:   bind("t", "periods, past seasons", "t"),
	find:     bind("/", "find a player", "/"),
	me:       bind("m", "jump to me", "m"),
	pause:    bind("p", "pause or resume", "p", " "),
	copy:     bind("y", "copy player or board", "y"),
	status:   bind("o", "toggle health", "o"),
	activity: bind("e", "toggle recent activity", "e"),
	actions:  bind("a", "actions", "a"),
	flags:    bind("f", "open flags", "f"),
	jobs:     bind("J", "jobs", "J"),
	letters:  bind("d", "dead letters", "d"),
	close:    bind("esc", "back, clear", "esc"),
	quit:     bind("q", "quit", "q", "ctrl+c"),
	up:       bind("k", "up", "up", "k"),
	down:     bind("j", "down", "down", "j"),
	pageUp:   bind("pgup", "a page up", "pgup", "ctrl+b"),
	pageDown: bind("pgdn", "a page down", "pgdown", "ctrl+f"),
	top:      bind("g", "first", "g", "home"),
	bottom:   bind("G", "last", "G", "end"),
	open:     bind("enter", "open the player", "enter"),
	earlier:  bind("left", "the previous change", "left"),
	later:    bind("right", "the next change", "right"),
	faster:   bind("+", "faster", "+", "="),
	slower:   bind("-", "slower", "-"),
	dismiss:  bind("esc", "close", "esc", "q", "b", "t"),
}

func bind(name, description string, pressed ...string) key.Binding {
	return key.NewBinding(key.WithKeys(pressed...), key.WithHelp(name, description))
}

// brief returns a binding with the shorter description of the footer.
func brief(b key.Binding, description string) key.Binding {
	b.SetHelp(b.Help().Key, description)
	return b
}

// both returns a binding that stands for two in the help.
func both(a, b key.Binding, name, description string) key.Binding {
	return bind(name, description, append(a.Keys(), b.Keys()...)...)
}

// ShortHelp returns the keys named in the footer. Quit is among the first: a narrow
// screen omits the last ones.
func (m *model) ShortHelp() []key.Binding {
	updown := func(what string) key.Binding { return both(keys.up, keys.down, m.theme.arrows, what) }
	if m.player != nil {
		hints := []key.Binding{brief(keys.close, "back"), keys.quit, updown("statement"), brief(keys.find, "find")}
		if m.operator {
			hints = append(hints, keys.actions)
		}
		return append(hints, brief(keys.copy, "copy"))
	}
	if m.reel != nil {
		return []key.Binding{
			keys.help, keys.quit, bind("space", "pause", keys.pause.Keys()...),
			both(keys.earlier, keys.later, m.theme.sideways, "step"),
			both(keys.faster, keys.slower, "+ -", "speed"), updown("select"),
		}
	}
	hints := []key.Binding{keys.help, keys.quit, updown("select")}
	if m.selected != "" {
		hints = append(hints, brief(keys.open, "player"))
		if m.operator {
			hints = append(hints, keys.actions)
		}
	}
	return append(hints, brief(keys.find, "find"), brief(keys.board, "boards"), brief(keys.period, "periods"),
		brief(keys.me, "me"), brief(keys.pause, "pause"))
}

// helpGroup is the keys of one context.
type helpGroup struct {
	title string
	keys  []key.Binding
}

// helpGroups returns the keys by context, the current one first.
func (m *model) helpGroups() []helpGroup {
	board := helpGroup{"board", []key.Binding{
		both(keys.up, keys.down, "j k", "select ("+m.theme.arrows+", pgup, pgdn)"),
		both(keys.top, keys.bottom, "g G", "first, last (home, end)"),
		keys.open, keys.find, keys.me, keys.board, keys.period, keys.pause, keys.copy,
	}}
	if m.reel != nil {
		return []helpGroup{
			{"playback", []key.Binding{
				bind("space", "pause, resume, play again"), keys.earlier, keys.later, keys.faster, keys.slower,
			}},
			{"board", []key.Binding{
				both(keys.up, keys.down, "j k", "select ("+m.theme.arrows+", pgup, pgdn)"),
				both(keys.top, keys.bottom, "g G", "first, last (home, end)"), brief(keys.copy, "copy the board"),
			}},
			{"everywhere", []key.Binding{keys.help, keys.activity, keys.close, keys.quit}},
		}
	}
	player := helpGroup{"player's page", []key.Binding{
		both(keys.up, keys.down, "j k", "scroll the statement"), brief(keys.copy, "copy the standing"),
		brief(keys.close, "back to the board"),
	}}
	everywhere := helpGroup{"everywhere", []key.Binding{keys.help, keys.status, keys.activity, keys.close, keys.quit}}
	operators := helpGroup{"operators", []key.Binding{
		brief(keys.actions, "freeze, rebuild, ban"), keys.flags, keys.jobs, keys.letters,
	}}
	if m.player != nil {
		return []helpGroup{player, board, everywhere, operators}
	}
	return []helpGroup{board, player, everywhere, operators}
}

// helpView returns the component that draws the hints of the footer.
func (t *theme) helpView() help.Model {
	return help.Model{ShortSeparator: t.between, Ellipsis: t.more}
}

// shortHelp draws keys on one line of the given width.
func (t *theme) shortHelp(bindings []key.Binding, width int) string {
	view := t.helpView()
	view.Width = width
	return t.dim.paint(fit(view.ShortHelpView(bindings), width, t.more))
}

// helpColumn is the width of a column of the help.
const helpColumn, helpKeyWidth = 34, 7

// helpPanel draws the help: the keys by context, and what the symbols mean. A narrow
// screen has one column, and a short one cuts it.
func (m *model) helpPanel(width, height int) []string {
	th := &m.theme
	var groups [][]string
	for _, g := range m.helpGroups() {
		lines := []string{th.title.paint(g.title)}
		for _, b := range g.keys {
			lines = append(lines, th.key.paint(fit(b.Help().Key, helpKeyWidth, ""))+b.Help().Desc)
		}
		groups = append(groups, append(lines, ""))
	}
	symbols := []string{th.title.paint("symbols")}
	for _, symbol := range [][2]string{
		{th.upMark + " " + th.downMark, "ranks gained and lost"},
		{"new", "not shown before"},
		{th.tie, "same score as a neighbour"},
		{th.flag, "has an open flag"},
		{"gap", "points to the row above"},
		{"bar", "score relative to the best"},
		{"p95", "95 % of writes are faster"},
	} {
		symbols = append(symbols, fit(symbol[0], helpKeyWidth, "")+symbol[1])
	}
	groups = append(groups, symbols)
	all := 0
	for _, g := range groups {
		all += len(g)
	}
	if width < 2*helpColumn+7 {
		var lines []string
		for _, g := range groups {
			lines = append(lines, g...)
		}
		inner := min(helpColumn, width-4)
		lines = lines[:min(len(lines), height-2)]
		for i := range lines {
			lines[i] = ansi.Truncate(lines[i], inner, th.more)
		}
		return th.panel("help", lines, inner+4, len(lines)+2)
	}
	left, right := groups[0], groups[1:]
	for len(right) > 1 && len(left)+len(right[0]) <= all/2+2 {
		left, right = append(left, right[0]...), right[1:]
	}
	var rest []string
	for _, g := range right {
		rest = append(rest, g...)
	}
	lines := make([]string, min(max(len(left), len(rest)), height-2))
	for i := range lines {
		if i < len(left) {
			lines[i] = left[i]
		}
		lines[i] = pad(lines[i], helpColumn) + "   "
		if i < len(rest) {
			lines[i] += rest[i]
		}
	}
	return th.panel("help", lines, 2*helpColumn+7, len(lines)+2)
}

// panel draws lines into a box with a title. A height above that of the lines leaves
// room below them.
func (t *theme) panel(title string, lines []string, width, height int) []string {
	b := t.border
	out := append(make([]string, 0, height), t.top(title, width))
	for i := range max(height-2, 0) {
		line := ""
		if i < len(lines) {
			line = ansi.Truncate(lines[i], width-4, t.more)
		}
		out = append(out, b.paint(t.box[5])+" "+pad(line, width-4)+" "+b.paint(t.box[5]))
	}
	return append(out, t.bottom(width))
}

// top and bottom are the first and the last line of a panel.
func (t *theme) top(title string, width int) string {
	title = Printable(title)
	if room := width - 6; cells(title) > room {
		title = fit(title, room, t.more)
	}
	rest := strings.Repeat(t.box[4], max(width-cells(title)-5, 0))
	return t.border.paint(t.box[0]+t.box[4]+" ") + t.strong.paint(title) + " " + t.border.paint(rest+t.box[1])
}

func (t *theme) bottom(width int) string {
	return t.border.paint(t.box[3] + strings.Repeat(t.box[4], max(width-2, 0)) + t.box[2])
}
