package tui

import (
	"context"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/scoreboard/scoreboard/client"
)

const (
	// tick moves the age on and ends flashes.
	tick = 250 * time.Millisecond
	// fade is how long a movement or a change stays marked.
	fade = 2 * time.Second
	// refresh is how often the own standing is read: it changes when others
	// move, of which the stream does not tell. Far below the rate limit.
	refresh = 5 * time.Second
	// askTimeout bounds one question to the server.
	askTimeout = 5 * time.Second
	// neighbours are shown around a user who was searched.
	neighbours = 2
)

// Options are what the screen shows and asks.
type Options struct {
	States <-chan client.State
	// Me reads the standing of the token's user.
	Me func(context.Context) (client.Place, error)
	// Find reads the standing of a user with neighbours.
	Find func(ctx context.Context, user string, neighbours int) (client.Place, error)
	// ASCII draws with nothing else.
	ASCII bool
}

type model struct {
	ctx    context.Context // of the questions that commands ask
	o      Options
	style  style
	now    func() time.Time
	width  int
	height int

	newest client.State // the last that came in
	shown  client.State // the last that is on the screen: older while paused
	board  board
	paused bool
	help   bool

	me        *client.Place
	searching bool
	query     string
	found     *client.Place
	notice    string
	ended     bool
}

type (
	stateMsg client.State
	endedMsg struct{}
	tickMsg  struct{}
	meMsg    struct{ place *client.Place }
	foundMsg struct {
		user  string
		place client.Place
		err   error
	}
)

func newModel(ctx context.Context, o Options, s style) *model {
	return &model{ctx: ctx, o: o, style: s, now: time.Now}
}

func (m *model) Init() tea.Cmd {
	return tea.Batch(m.listen, m.readMe, m.ticks())
}

// listen waits for the next state.
func (m *model) listen() tea.Msg {
	s, open := <-m.o.States
	if !open {
		return endedMsg{}
	}
	return stateMsg(s)
}

func (m *model) ticks() tea.Cmd {
	return tea.Tick(tick, func(time.Time) tea.Msg { return tickMsg{} })
}

// readMe asks for the own standing. A token without a score has no row.
func (m *model) readMe() tea.Msg {
	ctx, cancel := context.WithTimeout(m.ctx, askTimeout)
	defer cancel()
	place, err := m.o.Me(ctx)
	if err != nil {
		return meMsg{}
	}
	return meMsg{&place}
}

func (m *model) find(user string) tea.Cmd {
	return func() tea.Msg {
		ctx, cancel := context.WithTimeout(m.ctx, askTimeout)
		defer cancel()
		place, err := m.o.Find(ctx, user, neighbours)
		return foundMsg{user, place, err}
	}
}

func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
	case stateMsg:
		m.newest = client.State(msg)
		if !m.paused {
			m.show()
		}
		return m, m.listen
	case endedMsg:
		m.ended = true
		return m, tea.Quit
	case tickMsg:
		return m, m.ticks()
	case meMsg:
		if msg.place != nil {
			m.me = msg.place
		}
		return m, tea.Tick(refresh, func(time.Time) tea.Msg { return m.readMe() })
	case foundMsg:
		m.took(msg)
	case tea.KeyMsg:
		return m, m.keys(msg)
	}
	return m, nil
}

// keys takes a key, or several letters that came in one piece, as they do over
// a slow line, one after the other.
func (m *model) keys(msg tea.KeyMsg) tea.Cmd {
	if msg.Type == tea.KeyRunes && len(msg.Runes) > 1 && !msg.Paste {
		var all []tea.Cmd
		for _, r := range msg.Runes {
			all = append(all, m.keys(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune{r}, Alt: msg.Alt}))
		}
		return tea.Batch(all...)
	}
	if m.searching {
		return m.typed(msg)
	}
	return m.pressed(msg.String())
}

// show brings the newest state onto the screen.
func (m *model) show() {
	if m.newest.Board != m.shown.Board {
		m.board.reset() // another period: nobody rose or fell
	}
	m.shown = m.newest
	m.board.update(m.shown.Entries, m.now())
	if move := m.shown.Me; move != nil && m.me != nil && move.UserID == m.me.UserID && move.Rank > 0 {
		m.me.Score, m.me.Rank = move.Score, move.Rank
	}
}

func (m *model) took(f foundMsg) {
	if f.err != nil {
		m.found, m.notice = nil, f.err.Error()
		return
	}
	m.found, m.notice = &f.place, ""
}

func (m *model) pressed(key string) tea.Cmd {
	switch key {
	case "q", "ctrl+c":
		return tea.Quit
	case "?", "h":
		m.help = !m.help
	case "esc":
		m.help, m.found, m.notice = false, nil, ""
	case "p", " ":
		if m.paused = !m.paused; !m.paused {
			m.show()
		}
	case "/":
		m.help, m.searching, m.query = false, true, ""
	}
	return nil
}

// typed takes a key while a user's id is being entered.
func (m *model) typed(key tea.KeyMsg) tea.Cmd {
	switch key.Type {
	case tea.KeyCtrlC:
		return tea.Quit
	case tea.KeyEsc:
		m.searching = false
	case tea.KeyEnter:
		m.searching = false
		if m.query != "" {
			m.notice = "looking for " + m.query
			return m.find(m.query)
		}
	case tea.KeyBackspace:
		if m.query != "" {
			runes := []rune(m.query)
			m.query = string(runes[:len(runes)-1])
		}
	case tea.KeyRunes:
		if room := 64 - len(m.query); room > 0 { // no user id is longer
			m.query += Printable(string(key.Runes))
			m.query = m.query[:min(len(m.query), 64)]
		}
	}
	return nil
}
