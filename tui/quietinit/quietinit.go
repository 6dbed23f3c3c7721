// Package quietinit stops Bubble Tea from querying the terminal's background
// colour at program start.
//
// Bubble Tea v1 sends the query in its init, so at the start of every command of a
// program that links it, even "sbctl version", and waits up to five seconds for an
// answer, which never comes in a container with a terminal but no terminal emulator.
// The live screen asks by itself, without waiting for the answer.
//
// A dumb terminal is not queried. Go initialises packages in the order of their
// import paths once their imports are initialised, and this package imports only
// os: its init runs before Bubble Tea's and sets TERM=dumb until package tui, which
// is initialised later, calls Restore. A test of sbctl on a pseudo-terminal checks
// the order.
package quietinit

import "os"

var term, known = os.LookupEnv("TERM")

func init() {
	_ = os.Setenv("TERM", "dumb") // cannot fail with these arguments
}

// Restore restores TERM.
func Restore() {
	if known {
		_ = os.Setenv("TERM", term)
		return
	}
	_ = os.Unsetenv("TERM")
}
