package bulk

import "time"

// ShortenTimeouts makes retries immediate.
func (j *Job) ShortenTimeouts() { j.pause = time.Microsecond }
