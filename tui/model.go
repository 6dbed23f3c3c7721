package tui

import (
	"context"
	"strings"
	"time"

	"github.com/charmbracelet/bubbles/textinput"
	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/lipgloss"

	"github.com/scoreboard/scoreboard/client"
)

const (
	// stateInterval is the minimum time between two states on the screen. The watch's
	// channel holds the latest, so a busy board skips states, not users. After a state in
	// which many scores changed it is longer.
	stateInterval, hecticInterval = 125 * time.Millisecond, 500 * time.Millisecond
	// refresh is how often the own standing is read: it changes when others move,
	// which the stream does not report. It is far below the rate limit.
	refresh = 5 * time.Second
	// statusInterval is how often the server status is read.
	statusInterval = 2 * time.Second
	// requestTimeout bounds one request to the server, actionTimeout an action.
	requestTimeout, actionTimeout = 5 * time.Second, time.Minute
	// neighbours are those around the own row, on each side.
	neighbours = 2
	// toastFor is how long a toast stays.
	toastFor = 8 * time.Second
)

// Options are the inputs of the screen.
type Options struct {
	Board string // shown first
	// Playback, if set, is played back, and of the functions below only BoardInfo and Copy are
	// called.
	Playback *Playback
	// Watch watches a board until the context ends.
	Watch func(ctx context.Context, board string) <-chan client.State
	// Me reads the standing of the token's user, with neighbours.
	Me func(ctx context.Context, board string, neighbours int) (client.Place, error)
	// Find reads the standing of a user with neighbours.
	Find func(ctx context.Context, board, user string, neighbours int) (client.Place, error)
	// Boards lists what can be shown: all boards, or the periods of a family.
	Boards func(ctx context.Context, family string) ([]client.Board, error)
	// BoardInfo reads a board's status and period.
	BoardInfo func(ctx context.Context, board string) (client.Board, error)
	// Top reads the first rows of a board, for previews.
	Top func(ctx context.Context, board string, limit int) (client.Top, error)
	// Statement reads the newest events of a user on a board, which are for the user
	// and for operators.
	Statement func(ctx context.Context, board, user string) (client.Statement, error)
	// History reads a user's ranks over the last day; nil: none are shown.
	History func(ctx context.Context, board, user string) (client.RankHistory, error)
	// Status reads the server status, which is for operators. Once it was rejected, it
	// is not read again, and neither are Flags and User.
	Status func(ctx context.Context, board string) (client.Status, error)
	// Flags lists the open flags; nil: none are shown.
	Flags func(ctx context.Context) ([]client.Flag, error)
	// Jobs and DeadLetters list what operators see on a key; they are called with a token that may.
	Jobs        func(ctx context.Context) ([]client.Job, error)
	DeadLetters func(ctx context.Context) ([]client.DeadLetter, error)
	// User reads a user's account.
	User func(ctx context.Context, user string) (client.User, error)
	// Act makes a change. It returns when the change is done.
	Act func(ctx context.Context, a Action) error
	// Copy copies a text to the terminal's clipboard.
	Copy func(text string) error
	// Explain formats an error for users.
	Explain func(error) string
	// ASCII draws with ASCII characters only.
	ASCII bool
	// NoMotion draws rows at their new places at once, and changed scores without fading.
	NoMotion bool
}

// shared is what all parts of the screen use. All times come from now, so a test can
// run a recorded session.
type shared struct {
	ctx        context.Context // of the requests
	o          Options
	renderer   *lipgloss.Renderer
	theme      theme
	now        func() time.Time
	width      int
	height     int
	operator   bool
	toast      string
	toastUntil time.Time
}

// watched is the board that is watched.
type watched struct {
	watching   string // the requested board
	generation int    // of watches: messages of an earlier one are dropped
}

// model is the state of the screen: it passes messages to its panes and composes what
// they draw. Update and View touch nothing but it; requests run as commands.
type model struct {
	*shared
	*watched
	*boardPane
	playback playbackPane
	header   headerPane
	healthPane
	playerPane
	chooserPane
	menuPane
	queuePane

	query  func() // asks the terminal for its background; nil: not asked
	answer terminalAnswer
	wakeAt time.Time // of the pending tick; zero: none

	drawn string // what View returned last
	same  bool   // the last message changed nothing of it

	states <-chan client.State
	stop   context.CancelFunc

	search       textinput.Model // focused while a user is entered
	help         bool
	showHealth   bool
	showActivity bool
	ended        bool
}

type (
	stateMsg struct {
		generation int
		state      client.State
	}
	listenMsg struct{ generation int }
	endedMsg  struct{ generation int }
	// tickMsg redraws what changes with time.
	tickMsg   struct{}
	readMeMsg struct{}
	meMsg     struct {
		generation int
		place      *client.Place // nil: not available
	}
	copiedMsg struct{ err error }
)

func newModel(ctx context.Context, o Options, r *lipgloss.Renderer, dark bool) *model {
	if o.Explain == nil {
		o.Explain = error.Error
	}
	th := newTheme(r, dark, o.ASCII)
	all := &shared{ctx: ctx, o: o, renderer: r, theme: th, now: time.Now}
	which := &watched{}
	on := &boardPane{shared: all, watched: which}
	if o.Playback != nil {
		on.reel, which.watching = newReel(*o.Playback), o.Playback.Board
	}
	m := &model{
		shared:    all,
		watched:   which,
		boardPane: on,
		playback: playbackPane{
			shared: all, reel: on.reel, newest: &on.newest, info: &on.info, events: &on.activity,
			show: on.show, readInfo: on.readInfo, reset: on.board.reset,
		},
		header: headerPane{
			shared: all, state: &on.shown, info: &on.info, finale: &on.finale, paused: &on.paused, reel: on.reel,
		},
		healthPane: healthPane{
			shared: all, watched: which, lastFlag: -1, entry: on.entryOf, events: &on.activity, open: &on.flags,
		},
		playerPane:   playerPane{shared: all, watched: which, entry: on.entryOf, labelOf: on.label},
		chooserPane:  chooserPane{shared: all, watched: which},
		menuPane:     menuPane{shared: all, about: &on.info, report: on.tell},
		queuePane:    queuePane{shared: all},
		search:       newInput(&th, "find: ", maxUserID),
		showHealth:   true,
		showActivity: true,
		stop:         func() {},
	}
	return m
}

func (m *model) Init() tea.Cmd {
	ask := func() tea.Msg {
		if m.query != nil {
			m.query()
		}
		return nil
	}
	if m.reel != nil {
		return tea.Batch(ask, m.playback.loadTimeline(), m.playback.nextTick())
	}
	return tea.Batch(ask, m.watch(m.o.Board), m.readStatus(), m.later(readMeMsg{}), m.later(readInfoMsg{}))
}

// later sends a message after the time between two reads.
func (s *shared) later(msg tea.Msg) tea.Cmd {
	return tea.Tick(refresh, func(time.Time) tea.Msg { return msg })
}

// watch switches to a board.
func (m *model) watch(board string) tea.Cmd {
	m.stop()
	var ctx context.Context
	ctx, m.stop = context.WithCancel(m.ctx)
	m.watching, m.generation = board, m.generation+1
	m.states = m.o.Watch(ctx, board)
	m.newest, m.shown = client.State{Board: board}, client.State{Board: board}
	m.me, m.player, m.status, m.info, m.finale = nil, nil, nil, client.Board{}, finale{}
	m.paused, m.first, m.widest, m.selected = false, 0, 0, ""
	m.notify("")
	m.board.reset()
	m.activity = activity{}
	m.health = health{}
	return tea.Batch(m.listen(), m.readInfo(), m.readMe())
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

// request runs a request to the server in the background.
func (s *shared) request(do func(context.Context) tea.Msg) tea.Cmd {
	return func() tea.Msg {
		ctx, cancel := context.WithTimeout(s.ctx, requestTimeout)
		defer cancel()
		return do(ctx)
	}
}

// readMe reads the own standing. A user without a score has no row.
func (pane *boardPane) readMe() tea.Cmd {
	board, generation := pane.watching, pane.generation
	return pane.request(func(ctx context.Context) tea.Msg {
		place, err := pane.o.Me(ctx, board, neighbours)
		if err != nil {
			return meMsg{generation: generation}
		}
		return meMsg{generation, &place}
	})
}

// Update handles a message and schedules the next frame, if the screen will change
// without one: an idle screen draws nothing.
func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	if _, tick := msg.(tickMsg); tick {
		m.wakeAt = time.Time{}
	}
	cmd := m.handle(msg)
	if m.toast != "" && !m.now().Before(m.toastUntil) {
		m.notify("")
		m.same = false
	}
	return m, tea.Batch(cmd, m.wake())
}

func (m *model) wake() tea.Cmd {
	next := m.nextChange()
	if next.IsZero() || !m.wakeAt.IsZero() && !next.Before(m.wakeAt) {
		return nil
	}
	m.wakeAt = next
	return tea.Tick(next.Sub(m.now()), func(time.Time) tea.Msg { return tickMsg{} })
}

func (m *model) handle(msg tea.Msg) tea.Cmd {
	switch msg.(type) {
	case listenMsg, readMeMsg, readInfoMsg, readStatusMsg, readPlayerMsg, readQueueMsg:
		m.same = true // they only ask for what another message brings
	default:
		m.same = false
	}
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
		resizeInput(&m.search, m.width-1)
	case stateMsg:
		if msg.generation != m.generation {
			return nil
		}
		m.newest = msg.state
		var cmd tea.Cmd
		if !m.paused {
			cmd = m.show()
		}
		generation, wait := m.generation, stateInterval
		if m.hectic {
			wait = hecticInterval
		}
		return tea.Batch(cmd, tea.Tick(wait, func(time.Time) tea.Msg { return listenMsg{generation} }))
	case timelineMsg:
		return m.playback.setTimeline(msg)
	case playbackTickMsg:
		return m.playback.playOn(msg)
	case listenMsg:
		if msg.generation == m.generation {
			return m.listen()
		}
	case endedMsg:
		if msg.generation == m.generation {
			m.ended = true
			return tea.Quit
		}
	case readMeMsg:
		return tea.Batch(m.readMe(), m.later(msg))
	case meMsg:
		if msg.place != nil && msg.generation == m.generation {
			m.me = msg.place
		}
	case readInfoMsg:
		return tea.Batch(m.readInfo(), m.later(msg))
	case infoMsg:
		m.setInfo(msg)
	case readStatusMsg:
		return m.readStatus()
	case statusMsg:
		return m.setStatus(msg)
	case readQueueMsg:
		return m.readQueue(msg.kind)
	case queueMsg:
		return m.setQueue(msg)
	case boardsMsg:
		return m.openChooser(msg)
	case readPreviewMsg:
		return m.readPreview(msg.board)
	case previewMsg:
		return m.setPreview(msg)
	case readPlayerMsg:
		if m.player != nil && m.player.user == msg.user {
			return m.readPlayer(msg.user)
		}
	case playerMsg:
		return m.setPlayer(msg)
	case dayMsg:
		m.setDay(msg)
	case actedMsg:
		return m.acted(msg)
	case copiedMsg:
		m.notify("copied")
		if msg.err != nil {
			m.notify("not copied: " + msg.err.Error())
		}
	case tea.KeyMsg:
		return m.handleKey(msg)
	}
	return nil
}

// show puts the newest state on the screen.
func (pane *boardPane) show() tea.Cmd {
	var cmd tea.Cmd
	if pane.newest.Board != pane.shown.Board { // another board or period: no movements
		family, _, _ := strings.Cut(pane.shown.Board, ":")
		if pane.board.begun && strings.HasPrefix(pane.newest.Board, family+":") {
			pane.setFinale(pane.shown.Board, pane.board.rows)
			cmd = pane.readInfo()
		}
		pane.board.reset()
	}
	if pane.newest.Connection != pane.shown.Connection && pane.shown.Connection != "" {
		pane.tell(connectionWords[pane.newest.Connection])
		pane.notify("") // a failed request can be repeated now
	}
	pane.shown = pane.newest
	before := pane.board.rows
	changes := pane.board.update(pane.shown.Entries, pane.now())
	scores := 0
	for _, c := range changes {
		if c.scoreMoved {
			scores++
		}
	}
	pane.hectic = scores > maxAnimated
	for _, e := range pane.notable(before, changes) {
		pane.activity.add(e)
	}
	pane.keepCursor()
	move := pane.shown.Me
	if move == nil || pane.me == nil || move.UserID != pane.me.UserID || move.Rank == 0 {
		return cmd
	}
	was := client.Entry{Score: pane.me.Score, Subscore: pane.me.Subscore}
	now := client.Entry{Score: move.Score, Subscore: move.Subscore}
	if move.Rank != pane.me.Rank || !tied(&was, &now) {
		me := *pane.me
		me.Score, me.Subscore, me.Rank, me.Neighbours = move.Score, move.Subscore, move.Rank, nil // read again soon
		pane.me = &me
	}
	return cmd
}

// notify shows a toast for a while; an empty one clears it.
func (s *shared) notify(text string) {
	s.toast, s.toastUntil = text, time.Time{}
	if text != "" {
		s.toastUntil = s.now().Add(toastFor)
	}
}

func (pane *boardPane) lowestFirst() bool { return pane.info.Order == "lowest" }
