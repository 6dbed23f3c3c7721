package moments

// SetBlockUsers sets the number of standings in a block of the checkpoints that m makes.
func (m *Moments) SetBlockUsers(n int) { m.blockUsers = n }

// SetMaxEvents sets how many events one read may need beyond a checkpoint.
func (m *Moments) SetMaxEvents(n int) { m.maxEvents = n }
