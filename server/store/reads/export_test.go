package reads

// SetCheckpoints makes boards of more than small users large, with a checkpoint at
// every step-th standing.
func (r *Reads) SetCheckpoints(small, step int64) { r.index = newRankIndex(r.db, small, step) }
