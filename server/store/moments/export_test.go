package moments

// SetBlockUsers sets the number of standings in a block of the checkpoints that m makes.
func (m *Moments) SetBlockUsers(n int) { m.blockUsers = n }

// SetMaxEvents sets how many events one read may need beyond a checkpoint.
func (m *Moments) SetMaxEvents(n int) { m.maxEvents = n }

// SetMaxWhatIf sets how many rows a what-if may read.
func (m *Moments) SetMaxWhatIf(n int) { m.maxWhatIf = n }

// HoldWhatIf is as a what-if that runs until release is called.
func (m *Moments) HoldWhatIf() (release func()) {
	m.whatIf <- struct{}{}
	return func() { <-m.whatIf }
}
