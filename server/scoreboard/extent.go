package scoreboard

// Extent is what a partition of a topic holds: offsets from First to before End.
type Extent struct {
	Partition  int
	First, End int64
	Forgot     bool // there was something before First
}
