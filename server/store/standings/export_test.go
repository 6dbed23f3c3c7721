package standings

// SetSizes sets how many rows of the outbox a pass reads, and how many standings one
// transaction writes.
func (s *Standings) SetSizes(page, chunk int) { s.pageRows, s.chunkRows = page, chunk }
