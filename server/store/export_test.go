package store

// Milestones makes boards of more than small users large ones, with a milestone
// at every step.
func (s *Store) Milestones(small, step int64) { s.walks = newWalks(small, step) }
