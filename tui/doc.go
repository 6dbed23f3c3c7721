// Package tui displays a watched board: as a live screen on a terminal ([Run]), as
// a plain table every second ([Frames]), or as one line per change ([Lines]), for
// screen readers and logs.
//
// The screen is a pure model: Update and View depend on messages and a clock, so the
// tests run recorded sessions and compare screens. It draws a frame only when something has
// changed; while nothing does, it sleeps.
//
// The model passes messages to panes and composes what they draw. The board's pane owns
// the rows, the events and the cursor; the panes of the header, health, player, chooser,
// menu and playback use it, and not each other.
//
// It owns no connection: states arrive on the channel of client.Watch, and all
// three return when the channel is closed or the context ends. Names are untrusted
// text: control characters are removed before they reach the terminal.
package tui
