package main

import "testing"

func TestOrdinal(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{
		1: "1st", 2: "2nd", 3: "3rd", 4: "4th", 10: "10th", 11: "11th", 12: "12th", 13: "13th", 14: "14th",
		21: "21st", 82: "82nd", 93: "93rd", 100: "100th", 101: "101st", 111: "111th", 112: "112th",
		1_000_113: "1000113th",
	} {
		if got := ordinal(n); got != want {
			t.Errorf("ordinal(%d): got %s, want %s", n, got, want)
		}
	}
}

// Scripts cut tables apart: columns are two spaces apart, without borders,
// colours or trailing spaces, and numbers are aligned right.
func TestTable(t *testing.T) {
	t.Parallel()
	board := newTable(">RANK", "USER", ">SCORE")
	board.add("1", "ada", "1000")
	board.add("10", "日本", "9", "◀")
	board.add("11", "a name with  spaces", "")
	labels := newTable()
	labels.add("user", "ada")
	labels.add("rank", "1")
	for _, tc := range []struct {
		name  string
		table *table
		want  string
	}{
		{"headings", board, `RANK  USER                 SCORE
   1  ada                   1000
  10  日本                     9  ◀
  11  a name with  spaces
`},
		{"labels", labels.rename("rank", currentRank), `user          ada
current rank  1
`},
		{"headings only", newTable("NAME", ">SIZE"), "NAME  SIZE\n"},
		{"empty", newTable(), ""},
	} {
		if got := tc.table.render(style{}); got != tc.want {
			t.Errorf("%s: got\n%s\nwant\n%s", tc.name, got, tc.want)
		}
	}
}
