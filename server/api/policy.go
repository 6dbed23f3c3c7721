package api

// Policy is what operators can change while the API serves.
type Policy struct {
	SignatureOptional bool
	Async             bool // 202 for who asks
	OverflowAsync     bool // accept what the lanes refuse
	AnonymousReads    bool // of public boards, without a token
	TopN              int  // rows of a board's head where none are asked for
	// CountryHeader is where the edge says the country; Country knows it by
	// address. Both may be nothing.
	CountryHeader string
}

// Configure replaces the policy.
func (a *API) Configure(p Policy) { a.policy.Store(&p) }

// now is the policy in force.
func (a *API) now() *Policy { return a.policy.Load() }
