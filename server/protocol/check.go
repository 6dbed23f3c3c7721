package protocol

// The results of a check. Only fail makes an installation unhealthy.
const (
	CheckOK      = "ok"
	CheckWarn    = "warn"
	CheckFail    = "fail"
	CheckSkipped = "skipped"
)

// Check is the result of one health check.
type Check struct {
	Name     string `json:"name"`
	Status   string `json:"status"` // ok, warn, fail or skipped
	Detail   string `json:"detail"`
	NextStep string `json:"next_step,omitempty"`
}

// Checks is the response of GET /v1/admin/checks: the health checks of this server and its
// backends.
type Checks struct {
	Version string  `json:"version"`
	Checks  []Check `json:"checks"`
}
