package protocol

// The outcomes of a check. Only a failure makes an installation unhealthy.
const (
	CheckOK      = "ok"
	CheckWarn    = "warn"
	CheckFail    = "fail"
	CheckSkipped = "skipped"
)

// Check is one thing that was looked at.
type Check struct {
	Name     string `json:"name"`
	Status   string `json:"status"` // ok, warn, fail or skipped
	Detail   string `json:"detail"`
	NextStep string `json:"next_step,omitempty"`
}

// Checks answers GET /v1/admin/checks: what this server finds when it looks at
// itself and its backends.
type Checks struct {
	Version string  `json:"version"`
	Checks  []Check `json:"checks"`
}
