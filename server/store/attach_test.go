package store_test

import (
	"testing"

	"github.com/scoreboard/scoreboard/internal/test/storetest"
	"github.com/scoreboard/scoreboard/server/scoreboard"
)

// A partition attached while a row is routed to the default one costs a retry, not
// the increment.
func TestPartitionAttachedDuringWrite(t *testing.T) {
	t.Parallel()
	s, conn := storetest.New(t)
	record(t, s, increment("alice", 1, "before"))
	// As after the attach: the default partition rejects the row routed to it,
	// once.
	const refuseOnce = `create sequence refusals;
grant usage on sequence refusals to public;
create function refuse_once() returns trigger language plpgsql as $$
begin
    if nextval('refusals') = 1 then
        raise exception 'violates partition constraint' using errcode = '23514';
    end if;
    return new;
end $$;
create trigger refuse_once before insert on outbox_score_updates_default for each row execute function refuse_once()`
	conn.Do(t, refuseOnce)
	if got := record(t, s, increment("alice", 1, "during"))[0]; got.Err != nil || got.Receipts[0].NewScore != 2 ||
		got.Receipts[0].Replayed {
		t.Errorf("got %+v", got)
	}
	if n := conn.Count(t, `select last_value from refusals`); n != 2 {
		t.Errorf("the row was tried %d times, want 2", n)
	}
	// A named check constraint is not retried.
	conn.Do(t, `alter table scores add constraint scores_small check (score < 3)`)
	if _, err := s.Increments.Record(t.Context(), []scoreboard.Increment{increment("alice", 1, "after")}); err == nil {
		t.Error("recorded despite the violated check")
	}
}
