package english

import "testing"

func TestCount(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{0: "0 users", 1: "1 user", 2: "2 users", 21: "21 users", -1: "-1 users"} {
		if got := Count(n, "user"); got != want {
			t.Errorf("Count(%d): got %q, want %q", n, got, want)
		}
	}
}

func TestGrouped(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{
		0: "0", 999: "999", 1000: "1,000", -999: "-999", -1234567: "-1,234,567",
		9007199254740991: "9,007,199,254,740,991",
	} {
		if got := Grouped(n); got != want {
			t.Errorf("Grouped(%d): got %q, want %q", n, got, want)
		}
	}
}
