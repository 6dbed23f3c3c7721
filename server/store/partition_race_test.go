package store_test

import (
	"testing"

	"github.com/scoreboard/scoreboard/internal/test/storetest"
)

// A row may reach the default partition after its time was found to need a partition of its own,
// which then cannot be created: the row stays there, and maintenance goes on.
func TestPartitionsAreMadeBesideTheDefault(t *testing.T) {
	t.Parallel()
	s, conn := storetest.New(t)
	// What the list of missing partitions cannot see: it was taken before.
	conn.Do(t, `create or replace function create_outbox_partition(starts timestamptz, ends timestamptz) returns boolean
language plpgsql as $$
begin
    raise check_violation using message = 'a row of the default partition violates it';
end
$$`)
	if made, err := s.Outbox.MakePartitions(t.Context()); err != nil {
		t.Errorf("got %d, %v, want no error", made, err)
	}
}
