package scoreboard

// SetupError says which setting is wrong, and what to do. No part of it is secret.
type SetupError struct {
	Setting string // its name, such as redis.url
	Problem string
	Fix     string // in the imperative
	Err     error  // the cause; nil if there is none
}

func (e *SetupError) Error() string { return e.Setting + ": " + e.Problem + ": " + e.Fix }

func (e *SetupError) Unwrap() error { return e.Err }
