// Package console serves the operators' console at /console: pages to watch the pipeline,
// boards and players, and to change them.
//
// It has no access of its own. Everything it shows and changes goes through the routes of
// the API, in this process, with the token of the person who is signed in: scopes, rate
// limits, validation and audit are the API's. It knows the shapes of package protocol only.
//
// A session is an encrypted cookie that holds the token. Nothing about it is stored, so every
// node with the same master key accepts it. It ends with the token, after sessionTTL, or
// when the person signs out. Withdrawing the key of a token ends its sessions.
//
// Every change needs a form with a reason and a token against forged requests, and is
// reviewed before it is applied: the review shows the dry run where the API has one, and
// the command of sbctl that does the same. Pages run no inline scripts and load nothing
// from other hosts.
//
// Goroutines: each rebuild, verify and reconcile runs in one, because the API stops a job
// whose client disconnects and a page must survive a reload. Run owns them: it cancels
// them when its context ends and waits for them. Jobs and their results are in PostgreSQL,
// so every node shows them.
package console
