package bulk

import "time"

// Hurry makes the job wait next to nothing between tries.
func (j *Job) Hurry() { j.pause = time.Microsecond }
