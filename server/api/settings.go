package api

// Settings are what operators turn while the API serves.
type Settings struct {
	SignatureOptional bool
	Async             bool // 202 for who asks
	OverflowAsync     bool // accept what the lanes refuse
	AnonymousReads    bool // of public boards, without a token
	TopN              int  // rows of a board's head where none are asked for
	// CountryHeader is where the edge says the country; Country knows it by
	// address. Both may be nothing.
	CountryHeader string
}

// Configure puts other settings in force.
func (a *API) Configure(s Settings) { a.settings.Store(&s) }

// now are the settings that are in force.
func (a *API) now() *Settings { return a.settings.Load() }
