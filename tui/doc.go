// Package tui shows a board that is being watched: as a live screen on a
// terminal ([Run]), as one plain table a second ([Frames]), or as a line for
// each change ([Lines]), which suits screen readers and logs.
//
// It owns no connection: states come in on the channel of client.Watch, and
// all three return when that channel ends or the context does. Names are other
// people's text: they are stripped of what could steer a terminal before they
// reach it.
package tui
