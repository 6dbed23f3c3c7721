package tui

import (
	"context"
	"slices"
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
	// beat is how often the server is asked how it feels.
	beat = 2 * time.Second
	// askTimeout bounds one question to the server.
	askTimeout = 5 * time.Second
	// Neighbours around the own row and a user who was searched.
	someNeighbours, mostNeighbours = 2, 10
)

// Options are what the screen shows and asks.
type Options struct {
	Board string // that is shown first
	// Watch follows a board until the context ends.
	Watch func(ctx context.Context, board string) <-chan client.State
	// Me reads the standing of the token's user, with neighbours.
	Me func(ctx context.Context, board string, neighbours int) (client.Place, error)
	// Find reads the standing of a user with neighbours.
	Find func(ctx context.Context, board, user string, neighbours int) (client.Place, error)
	// Boards lists what can be shown: all boards, or the periods of a family.
	Boards func(ctx context.Context, family string) ([]client.Board, error)
	// BoardStatus says whether a board takes scores: active, frozen or archived.
	BoardStatus func(ctx context.Context, board string) (string, error)
	// Status says how the server feels. It is for operators: after a refusal
	// it is not asked again.
	Status func(ctx context.Context, board string) (client.Status, error)
	// Copy puts a text into the terminal's clipboard.
	Copy func(text string) error
	// Explain says an error in words for people.
	Explain func(error) string
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

	watching   string // the board that was asked for
	generation int    // of watches: what an earlier one still says is not heard
	states     <-chan client.State
	stop       context.CancelFunc

	newest client.State // the last that came in
	shown  client.State // the last that is on the screen: older while paused
	board  board
	feed   feed
	first  int // of the rows that is on the screen
	room   int // for rows, when they were drawn last
	paused bool
	help   bool

	boardStatus string // "" until it is known

	me         *client.Place
	searching  bool
	query      string
	found      *client.Place
	neighbours int
	chooser    *chooser
	status     *client.Status
	pulse      bool // the panel is wanted
	news       bool // the feed is
	notice     string
	ended      bool
}

type (
	stateMsg struct {
		generation int
		state      client.State
	}
	endedMsg struct{ generation int }
	tickMsg  struct{}
	askMeMsg struct{}
	meMsg    struct {
		generation int
		place      *client.Place // nil when it could not be read
	}
	foundMsg struct {
		generation int
		user       string
		place      client.Place
		err        error
	}
	askStatusMsg struct{}
	statusMsg    struct {
		status *client.Status
		err    error
	}
	boardsMsg struct {
		family string
		boards []client.Board
		err    error
	}
	copiedMsg struct{ err error }
)

func newModel(ctx context.Context, o Options, s style) *model {
	if o.Explain == nil {
		o.Explain = error.Error
	}
	return &model{ctx: ctx, o: o, style: s, now: time.Now, neighbours: someNeighbours, pulse: true, news: true, stop: func() {}}
}

func (m *model) Init() tea.Cmd {
	return tea.Batch(m.watch(m.o.Board), m.readMe(), m.readBoardStatus(), m.readStatus(), m.ticks())
}

// watch shows another board from now on.
func (m *model) watch(board string) tea.Cmd {
	m.stop()
	var ctx context.Context
	ctx, m.stop = context.WithCancel(m.ctx)
	m.watching, m.generation = board, m.generation+1
	m.states = m.o.Watch(ctx, board)
	m.newest, m.shown = client.State{Board: board}, client.State{Board: board}
	m.me, m.found, m.status, m.boardStatus, m.notice, m.paused, m.first = nil, nil, nil, "", "", false, 0
	m.board.reset()
	m.feed = feed{}
	return m.listen()
}

// listen waits for the next state.
func (m *model) listen() tea.Cmd {
	states, generation := m.states, m.generation
	return func() tea.Msg {
		s, open := <-states
		if !open {
			return endedMsg{generation}
		}
		return stateMsg{generation, s}
	}
}

func (m *model) ticks() tea.Cmd {
	return tea.Tick(tick, func(time.Time) tea.Msg { return tickMsg{} })
}

// ask runs a question to the server beside the screen.
func (m *model) ask(question func(context.Context) tea.Msg) tea.Cmd {
	return func() tea.Msg {
		ctx, cancel := context.WithTimeout(m.ctx, askTimeout)
		defer cancel()
		return question(ctx)
	}
}

// readMe asks for the own standing. A token without a score has no row.
func (m *model) readMe() tea.Cmd {
	board, k, generation := m.watching, m.neighbours, m.generation
	return m.ask(func(ctx context.Context) tea.Msg {
		place, err := m.o.Me(ctx, board, k)
		if err != nil {
			return meMsg{generation: generation}
		}
		return meMsg{generation, &place}
	})
}

func (m *model) readStatus() tea.Cmd {
	board := m.watching
	return m.ask(func(ctx context.Context) tea.Msg {
		s, err := m.o.Status(ctx, board)
		return statusMsg{&s, err}
	})
}

func (m *model) find(user string) tea.Cmd {
	board, k, generation := m.watching, m.neighbours, m.generation
	return m.ask(func(ctx context.Context) tea.Msg {
		place, err := m.o.Find(ctx, board, user, k)
		return foundMsg{generation, user, place, err}
	})
}

func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
	case stateMsg:
		if msg.generation != m.generation {
			return m, nil
		}
		m.newest = msg.state
		if !m.paused {
			m.show()
		}
		return m, m.listen()
	case endedMsg:
		if msg.generation == m.generation {
			m.ended = true
			return m, tea.Quit
		}
	case tickMsg:
		return m, m.ticks()
	case askMeMsg:
		return m, m.readMe()
	case meMsg:
		if msg.place != nil && msg.generation == m.generation {
			m.me = msg.place
		}
		return m, tea.Tick(refresh, func(time.Time) tea.Msg { return askMeMsg{} })
	case askBoardStatusMsg:
		return m, m.readBoardStatus()
	case boardStatusMsg:
		return m, m.stands(msg)
	case askStatusMsg:
		return m, m.readStatus()
	case statusMsg:
		return m, m.felt(msg)
	case boardsMsg:
		m.listed(msg)
	case foundMsg:
		if msg.generation == m.generation {
			m.took(msg)
		}
	case copiedMsg:
		m.notice = "copied"
		if msg.err != nil {
			m.notice = "not copied: " + msg.err.Error()
		}
	case tea.KeyMsg:
		return m, m.keys(msg)
	}
	return m, nil
}

// show brings the newest state onto the screen.
func (m *model) show() {
	if m.newest.Board != m.shown.Board {
		m.board.reset() // another period: nobody rose or fell
	}
	if m.newest.Connection != m.shown.Connection && m.shown.Connection != "" {
		m.feed.add(m.now(), "the connection is "+string(m.newest.Connection))
		m.notice = "" // what could not be asked then can be now
	}
	m.shown = m.newest
	for _, c := range m.board.update(m.shown.Entries, m.now()) {
		if text := c.text(); text != "" {
			m.feed.add(m.now(), text)
		}
	}
	move := m.shown.Me
	if move == nil || m.me == nil || move.UserID != m.me.UserID || move.Rank == 0 {
		return
	}
	if move.Rank != m.me.Rank || move.Score != m.me.Score {
		me := *m.me
		me.Score, me.Rank, me.Neighbours = move.Score, move.Rank, nil // they are read again soon
		m.me = &me
	}
}

func (m *model) took(f foundMsg) {
	if f.err != nil {
		m.found, m.notice = nil, m.o.Explain(f.err)
		return
	}
	m.found, m.notice = &f.place, ""
}

// onScreen says whether a user is among the rows.
func (m *model) onScreen(user string) bool {
	return slices.ContainsFunc(m.board.rows, func(r row) bool { return r.UserID == user })
}
