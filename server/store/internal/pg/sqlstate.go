package pg

// State says what is done about errors with a SQLSTATE of the classes that describe the
// database rather than a statement. docs/runbook/lost-postgresql.md has the same table.
type State struct {
	Code    string // or the first two characters, which name its class
	Meaning string
	// Outage: callers get a 503 with Retry-After, and nothing that waits to be recorded comes
	// nearer to the dead letters. Otherwise it is a fault of ours.
	Outage bool
	// Retry: the transaction is run again at once.
	Retry bool
	// Drop: the connection is closed, because the next one may lead to another server or the
	// session can no longer be trusted.
	Drop bool
}

// states are the decisions. That of a code goes before that of its class.
var states = []State{
	{"08", "the connection failed", true, true, true},
	{"25", "the transaction is in another state than the program assumes", false, false, false},
	{
		ReadOnlyTransaction, "the server is read-only: a standby, or a provider's server with a full disk",
		true, false, true,
	},
	{"25P03", "the transaction was idle for too long", true, true, true},
	{"25P04", "the transaction took too long", true, false, true},
	{"53", "resources: disk full (53100), out of memory (53200), too many connections (53300)", true, false, false},
	{"57", "operator intervention: statement timeout or cancelled (57014)", true, false, false},
	{"57P01", "the server is shutting down", true, true, true},
	{"57P02", "another process of the server crashed", true, true, true},
	{"57P03", "the server is starting", true, true, true},
	{"57P04", "the database was dropped", true, false, true},
	{"57P05", "the session was idle for too long", true, true, true},
	{"58", "a file or the disk fails under the server", true, false, false},
	{"XX", "the server fails inside: damaged data, or `could not write init file` on a full disk", true, false, true},
}

// stateOf returns the decision on a SQLSTATE; false if its class describes statements.
func stateOf(code string) (found State, ok bool) {
	if len(code) < 2 {
		return State{}, false
	}
	for _, s := range states {
		if s.Code == code {
			return s, true
		}
		if s.Code == code[:2] {
			found, ok = s, true
		}
	}
	return found, ok
}
