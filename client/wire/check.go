package wire

// The results of a check. Only fail makes an installation unhealthy.
const (
	CheckOK      = "ok"
	CheckWarn    = "warn"
	CheckFail    = "fail"
	CheckSkipped = "skipped"
)

// Check is the result of one health check.
type Check struct {
	Name     string `json:"name"`                // name of the check, such as postgresql
	Status   string `json:"status"`              // ok, warn, fail or skipped
	Detail   string `json:"detail"`              // what was found, in words
	NextStep string `json:"next_step,omitempty"` // what to do about it; absent if nothing
	// Page of the documentation, below /docs/, that has every step; absent if nothing is wrong.
	Page string `json:"page,omitempty"`
}

// Checks is the response of GET /v1/admin/checks: the health checks of this server and its
// backends.
type Checks struct {
	Version string  `json:"version"` // version of the server
	Checks  []Check `json:"checks"`  // the results in the order in which the checks ran
}
