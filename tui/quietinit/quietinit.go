// Package quietinit keeps Bubble Tea from asking the terminal for its
// background while the program starts.
//
// Bubble Tea v1 asks in its init, that is, at the start of every command of a
// program that links it, "sbctl version" too, and waits up to five seconds
// where nobody answers, as in a container that has a terminal and no person.
// The screens here use the terminal's own sixteen colours and need no answer.
//
// A dumb terminal is not asked. Go initialises packages in the order of their
// import paths as soon as what they import is ready, and this one imports os
// alone: it comes before Bubble Tea and calls the terminal dumb until package
// tui, which comes after, calls Restore. A test of sbctl at a pseudo-terminal
// holds the order.
package quietinit

import "os"

var term, known = os.LookupEnv("TERM")

func init() {
	_ = os.Setenv("TERM", "dumb") // fails on no system for these words
}

// Restore gives the terminal its name back.
func Restore() {
	if known {
		_ = os.Setenv("TERM", term)
		return
	}
	_ = os.Unsetenv("TERM")
}
