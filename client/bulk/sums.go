package bulk

import (
	"fmt"
	"hash/fnv"
)

// sums are what lines said when they were sent, in 16 bits each, so that ten
// million take 20 MB. An edit of one line is overlooked once in 65,535; one
// that moves the lines below it meets many of them.
type sums struct {
	pages []*[4096]uint16 // 0 for a line that was not sent, or was refused
	last  int             // that has one
}

func (s *sums) set(line int, sum uint16) {
	for len(s.pages) <= line/4096 {
		s.pages = append(s.pages, new([4096]uint16))
	}
	s.pages[line/4096][line%4096] = sum
	if sum != 0 {
		s.last = max(s.last, line)
	}
}

func (s *sums) at(line int) uint16 {
	if line/4096 >= len(s.pages) {
		return 0
	}
	return s.pages[line/4096][line%4096]
}

// sumOf is what a line says, never 0 but for one that is no increment.
func sumOf(it *item) uint16 {
	if it.err != nil {
		return 0
	}
	h := fnv.New32a()
	_, _ = fmt.Fprintf(h, "%q %d %q %q %q", it.in.User, it.in.Delta, it.in.EventID, it.in.Board, it.in.Action)
	return uint16(h.Sum32()%0xffff) + 1
}
