package plural

import "testing"

func TestCount(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{0: "0 users", 1: "1 user", 2: "2 users", 21: "21 users", -1: "-1 users"} {
		if got := Count(n, "user"); got != want {
			t.Errorf("Count(%d): got %q, want %q", n, got, want)
		}
	}
}
