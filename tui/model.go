package tui

import (
	"context"
	"slices"
	"time"

	"github.com/charmbracelet/bubbles/textinput"
	tea "github.com/charmbracelet/bubbletea"

	"github.com/scoreboard/scoreboard/client"
)

const (
	// redrawInterval updates the age and ends highlights.
	redrawInterval = 250 * time.Millisecond
	// fade is how long a movement or a change is highlighted.
	fade = 2 * time.Second
	// refresh is how often the own standing is read: it changes when others move,
	// which the stream does not report. It is far below the rate limit.
	refresh = 5 * time.Second
	// statusInterval is how often the server status is read.
	statusInterval = 2 * time.Second
	// requestTimeout bounds one request to the server.
	requestTimeout = 5 * time.Second
	// Neighbours around the own row and a found user.
	defaultNeighbours, maxNeighbours = 2, 10
)

// Options are the inputs of the screen.
type Options struct {
	Board string // shown first
	// Watch watches a board until the context ends.
	Watch func(ctx context.Context, board string) <-chan client.State
	// Me reads the standing of the token's user, with neighbours.
	Me func(ctx context.Context, board string, neighbours int) (client.Place, error)
	// Find reads the standing of a user with neighbours.
	Find func(ctx context.Context, board, user string, neighbours int) (client.Place, error)
	// Boards lists what can be shown: all boards, or the periods of a family.
	Boards func(ctx context.Context, family string) ([]client.Board, error)
	// BoardStatus reads a board's status: active, frozen or archived.
	BoardStatus func(ctx context.Context, board string) (string, error)
	// Status reads the server status, which is for operators. Once it was rejected, it
	// is not read again.
	Status func(ctx context.Context, board string) (client.Status, error)
	// Copy copies a text to the terminal's clipboard.
	Copy func(text string) error
	// Explain formats an error for users.
	Explain func(error) string
	// ASCII draws with ASCII characters only.
	ASCII bool
}

type model struct {
	ctx    context.Context // of the requests
	o      Options
	style  style
	now    func() time.Time
	width  int
	height int

	watching   string // the requested board
	generation int    // of watches: messages of an earlier one are dropped
	states     <-chan client.State
	stop       context.CancelFunc

	newest client.State // the latest received
	shown  client.State // the one on the screen: older while paused
	board  board
	feed   feed
	first  int // row on the screen
	room   int // rows that fit, as last drawn
	paused bool
	help   bool

	boardStatus string // empty: unknown

	me         *client.Place
	search     textinput.Model // focused while a user id is entered
	found      *client.Place
	neighbours int
	chooser    *chooser
	status     *client.Status
	showStatus bool
	showFeed   bool
	notice     string
	ended      bool
}

type (
	stateMsg struct {
		generation int
		state      client.State
	}
	endedMsg  struct{ generation int }
	tickMsg   struct{}
	readMeMsg struct{}
	meMsg     struct {
		generation int
		place      *client.Place // nil: not available
	}
	foundMsg struct {
		generation int
		user       string
		place      client.Place
		err        error
	}
	readStatusMsg struct{}
	statusMsg     struct {
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
	return &model{
		ctx:        ctx,
		o:          o,
		style:      s,
		search:     newSearch(&s),
		now:        time.Now,
		neighbours: defaultNeighbours,
		showStatus: true,
		showFeed:   true,
		stop:       func() {},
	}
}

func (m *model) Init() tea.Cmd {
	return tea.Batch(m.watch(m.o.Board), m.readMe(), m.readBoardStatus(), m.readStatus(), m.redraw())
}

// watch switches to a board.
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

func (m *model) redraw() tea.Cmd {
	return tea.Tick(redrawInterval, func(time.Time) tea.Msg { return tickMsg{} })
}

// request runs a request to the server in the background.
func (m *model) request(do func(context.Context) tea.Msg) tea.Cmd {
	return func() tea.Msg {
		ctx, cancel := context.WithTimeout(m.ctx, requestTimeout)
		defer cancel()
		return do(ctx)
	}
}

// readMe reads the own standing. A user without a score has no row.
func (m *model) readMe() tea.Cmd {
	board, k, generation := m.watching, m.neighbours, m.generation
	return m.request(func(ctx context.Context) tea.Msg {
		place, err := m.o.Me(ctx, board, k)
		if err != nil {
			return meMsg{generation: generation}
		}
		return meMsg{generation, &place}
	})
}

func (m *model) readStatus() tea.Cmd {
	board := m.watching
	return m.request(func(ctx context.Context) tea.Msg {
		s, err := m.o.Status(ctx, board)
		return statusMsg{&s, err}
	})
}

func (m *model) find(user string) tea.Cmd {
	board, k, generation := m.watching, m.neighbours, m.generation
	return m.request(func(ctx context.Context) tea.Msg {
		place, err := m.o.Find(ctx, board, user, k)
		return foundMsg{generation, user, place, err}
	})
}

func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
		m.resizeSearch()
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
		return m, m.redraw()
	case readMeMsg:
		return m, m.readMe()
	case meMsg:
		if msg.place != nil && msg.generation == m.generation {
			m.me = msg.place
		}
		return m, tea.Tick(refresh, func(time.Time) tea.Msg { return readMeMsg{} })
	case readBoardStatusMsg:
		return m, m.readBoardStatus()
	case boardStatusMsg:
		return m, m.setBoardStatus(msg)
	case readStatusMsg:
		return m, m.readStatus()
	case statusMsg:
		return m, m.setStatus(msg)
	case boardsMsg:
		m.openChooser(msg)
	case foundMsg:
		if msg.generation == m.generation {
			m.setFound(msg)
		}
	case copiedMsg:
		m.notice = "copied"
		if msg.err != nil {
			m.notice = "not copied: " + msg.err.Error()
		}
	case tea.KeyMsg:
		return m, m.handleKey(msg)
	}
	return m, nil
}

// show puts the newest state on the screen.
func (m *model) show() {
	if m.newest.Board != m.shown.Board {
		m.board.reset() // another board or period: no movements
	}
	if m.newest.Connection != m.shown.Connection && m.shown.Connection != "" {
		m.feed.add(m.now(), "connection: "+string(m.newest.Connection))
		m.notice = "" // a failed request can be repeated now
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
		me.Score, me.Rank, me.Neighbours = move.Score, move.Rank, nil // read again soon
		m.me = &me
	}
}

func (m *model) setFound(f foundMsg) {
	if f.err != nil {
		m.found, m.notice = nil, m.o.Explain(f.err)
		return
	}
	m.found, m.notice = &f.place, ""
}

// onScreen reports whether a user is among the rows.
func (m *model) onScreen(user string) bool {
	return slices.ContainsFunc(m.board.rows, func(r row) bool { return r.UserID == user })
}
