package server_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/scoreboard/scoreboard/client"
	"github.com/scoreboard/scoreboard/server/http/auth"
)

// A node that rebuilds boards serves when it has looked at them: the first receipts on a new database
// have ranks.
func TestFirstReceiptsHaveRanks(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	n := h.launch(allRoles)
	root := n.client("root", auth.ScopeUpdate+" "+auth.ScopeAdmin)
	h.await("the first answer", func() bool { // the address is bound when nothing answers yet
		status, _ := h.get(t, n.URL+"/v1/boards", bearer(h.token("root", auth.ScopeAdmin, awaitTimeout)))
		return status == http.StatusOK
	})
	for i := range 5 {
		receipt, err := root.Submit(t.Context(), client.Increment{User: fmt.Sprint("u", i), Delta: int64(9 - i)})
		// Those before may not be applied yet, and count for less.
		if err != nil || receipt.Rank == nil || *receipt.Rank > int64(i+1) {
			t.Errorf("increment %d: %+v, %v; want a rank up to %d", i, receipt, err, i+1)
		}
	}
}
