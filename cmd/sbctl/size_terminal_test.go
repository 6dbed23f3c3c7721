//go:build unix

package main

import "testing"

// On a terminal sbctl asks for the values that no flag gives.
func TestSizeAsksForMissingValues(t *testing.T) {
	t.Parallel()
	term := onTerminalWith(t, "http://127.0.0.1:1", "HOME="+t.TempDir(), "size", "--boards", "2", "--viewers", "0")
	term.shows("Users with a score: ")
	term.press("1,000,000\r")
	term.shows("Increments a day: ")
	term.press("\r")
	term.shows("Increments a day (required): ")
	term.press("864_000\r")
	term.shows("Highest rate relative to the average [10]: ")
	term.press("\r")
	term.shows("Days that the ledger stays in PostgreSQL [90]: ")
	term.press("30\r")
	term.shows("increments a second, at the peak")
	term.press("q") // the pager
	term.ends(0)
}
