package tui

import (
	"context"
	"strings"

	"github.com/charmbracelet/bubbles/key"
	"github.com/charmbracelet/bubbles/textinput"
	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"

	"github.com/scoreboard/scoreboard/client"
)

// Verb is what an action does.
type Verb string

// The actions of operators. Those on users have the words of "sbctl user", those on
// boards the words of "sbctl board" and "sbctl rebuild".
const (
	BanUser       Verb = "ban"
	FreezeUser    Verb = "freeze user"
	FreezeBoard   Verb = "freeze board"
	UnfreezeBoard Verb = "unfreeze board"
	RebuildBoard  Verb = "rebuild"
)

// Action is a change that an operator makes from the screen.
type Action struct {
	Verb   Verb
	Target string // a user or a board
	Reason string // for the audit trail
}

// Command is the command line that does the same.
func (a Action) Command() string {
	command := map[Verb]string{
		BanUser: "sbctl user ban ", FreezeUser: "sbctl user freeze ", FreezeBoard: "sbctl board freeze ",
		UnfreezeBoard: "sbctl board unfreeze ", RebuildBoard: "sbctl rebuild --board ",
	}[a.Verb]
	return command + shellWord(a.Target) + " --reason " + shellWord(a.Reason)
}

// shellWord quotes a text for a shell, unless it needs no quotes.
func shellWord(s string) string {
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@%+:,./_-", r)
	}) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// menu offers actions on the selected user and on the board, and then asks for the
// reason.
type menu struct {
	items  []menuItem
	at     int
	chosen *Action // while the reason is entered
	reason textinput.Model
}

// menuPane shows the menu, if it is open.
type menuPane struct {
	*shared
	about  *client.Board
	report func(text string)
	menu   *menu
}

type menuItem struct {
	action       Action
	text, effect string
}

type actedMsg struct {
	action Action
	err    error
}

// openMenu opens the menu for a user, if any, and the board.
func (m *model) openMenu() {
	if !m.operator {
		m.notify("actions need a token with the scope score:operate")
		return
	}
	user := m.selected
	if m.player != nil {
		user = m.player.user
	}
	board := m.shown.Board
	if board == "" {
		board = m.watching
	}
	n := &menu{}
	add := func(v Verb, target, text, effect string) {
		n.items = append(n.items, menuItem{Action{Verb: v, Target: target}, text + " " + target, effect})
	}
	if user != "" {
		add(BanUser, user, "ban player", "rejects writes, hides the player from all boards; sbctl user unban ends it")
		add(FreezeUser, user, "freeze player", "rejects writes; the player stays visible; sbctl user unfreeze ends it")
	}
	switch m.info.Status {
	case frozen:
		add(UnfreezeBoard, board, "unfreeze board", "accepts scores again")
	case active, "":
		add(FreezeBoard, board, "freeze board", "rejects scores; reads work as usual")
	}
	add(RebuildBoard, board, "rebuild ranking of", "rebuilds it from PostgreSQL while it stays online")
	n.reason = newInput(&m.theme, "reason: ", maxReason)
	m.menu = n
}

// maxReason is the length of a reason that can be entered here.
const maxReason = 200

// menuKey handles a key while the menu is open.
func (pane *menuPane) menuKey(msg tea.KeyMsg) tea.Cmd {
	n := pane.menu
	if msg.Type == tea.KeyCtrlC {
		return tea.Quit
	}
	if n.chosen != nil {
		return pane.reasonKey(msg)
	}
	switch {
	case key.Matches(msg, keys.dismiss):
		pane.menu = nil
	case key.Matches(msg, keys.up):
		n.at = max(n.at-1, 0)
	case key.Matches(msg, keys.down):
		n.at = min(n.at+1, len(n.items)-1)
	case key.Matches(msg, keys.open):
		chosen := n.items[n.at].action
		n.chosen = &chosen
		return n.reason.Focus()
	}
	return nil
}

// reasonKey handles a key while the reason is entered. Without a reason nothing is
// done: it goes into the audit trail.
func (pane *menuPane) reasonKey(msg tea.KeyMsg) tea.Cmd {
	n := pane.menu
	switch msg.Type {
	case tea.KeyEsc:
		n.chosen = nil
		n.reason.Blur()
		return nil
	case tea.KeyEnter:
		a := *n.chosen
		if a.Reason = strings.TrimSpace(n.reason.Value()); a.Reason == "" {
			return nil
		}
		pane.menu = nil
		pane.notify(a.Command())
		return pane.act(a)
	}
	msg.Runes = []rune(Printable(string(msg.Runes)))
	var cmd tea.Cmd
	n.reason, cmd = n.reason.Update(msg)
	return cmd
}

func (pane *menuPane) act(a Action) tea.Cmd {
	return func() tea.Msg {
		ctx, cancel := context.WithTimeout(pane.ctx, actionTimeout)
		defer cancel()
		return actedMsg{a, pane.o.Act(ctx, a)}
	}
}

// acted reports the result of an action.
func (pane *menuPane) acted(msg actedMsg) tea.Cmd {
	if msg.err != nil {
		pane.notify(string(msg.action.Verb) + " " + msg.action.Target + ": " + pane.o.Explain(msg.err))
		return nil
	}
	done := map[Verb]string{
		BanUser: "is banned", FreezeUser: "is frozen", FreezeBoard: "is frozen", UnfreezeBoard: "accepts scores again",
		RebuildBoard: "is rebuilt",
	}[msg.action.Verb]
	pane.notify(msg.action.Target + " " + done)
	pane.report(msg.action.Target + " " + done + ": " + msg.action.Reason)
	if msg.action.Verb == FreezeBoard || msg.action.Verb == UnfreezeBoard {
		status := frozen
		if msg.action.Verb == UnfreezeBoard {
			status = active
		}
		if pane.about.Status != "" {
			pane.about.Status = status
		}
	}
	return nil
}

// menuView draws the menu.
func (pane *menuPane) menuView(width int) []string {
	n, th := pane.menu, &pane.theme
	inner := min(width-4, 76)
	var lines []string
	if n.chosen != nil {
		a := *n.chosen
		a.Reason = strings.TrimSpace(n.reason.Value())
		resizeInput(&n.reason, inner)
		lines = append(lines, fit(n.reason.View(), inner, th.more), "",
			th.dim.paint(fit("command", inner, "")),
			ansi.Truncate(th.strong.paint(Printable(a.Command())), inner, th.more), "")
		hint := brief(keys.open, "run")
		if a.Reason == "" {
			hint = brief(keys.open, "enter a reason")
		}
		lines = append(lines, th.shortHelp([]key.Binding{hint, brief(keys.dismiss, "back")}, inner))
		return th.panel(n.items[n.at].text, lines, inner+4, len(lines)+2)
	}
	for i, item := range n.items {
		mark := " "
		if i == n.at {
			mark = th.key.paint(th.mark)
		}
		line := fit(mark+" "+Printable(item.text), inner, th.more)
		if i == n.at {
			line = th.onSelected(line)
		}
		lines = append(lines, line)
	}
	lines = append(lines, "", th.dim.paint(fit(n.items[n.at].effect, inner, th.more)),
		th.shortHelp([]key.Binding{brief(keys.open, "choose"), keys.dismiss}, inner))
	return th.panel("actions", lines, inner+4, len(lines)+2)
}
