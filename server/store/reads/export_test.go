package reads

// SetAnchors makes boards of more than small users large, with a anchor at
// every step-th standing.
func (r *Reads) SetAnchors(small, step int64) { r.index = newRankIndex(r.db, small, step) }

// SetSizes sets how many rows of the outbox a pass reads, and how many standings one
// transaction writes.
func (s *Standings) SetSizes(page, chunk int) { s.pageRows, s.chunkRows = page, chunk }
