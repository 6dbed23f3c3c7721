package migrations

import (
	"fmt"
	"strconv"
	"strings"
)

// releaseStep is the range of numbers of one release: a release that migrates the
// schema starts at the next multiple. Adjacent releases run on one database, so a
// build supports the migrations of its own release and of the next.
const releaseStep = 100

// Latest returns the number of the newest migration of this build, which is the
// oldest schema that it runs on.
func Latest() int64 {
	entries, err := files.ReadDir(".")
	if err != nil { // they are embedded
		panic(err)
	}
	latest := int64(0)
	for _, e := range entries {
		number, _, _ := strings.Cut(e.Name(), "_")
		if n, err := strconv.ParseInt(number, 10, 64); err == nil {
			latest = max(latest, n)
		}
	}
	return latest
}

// Problem describes why this build cannot run on a database whose newest applied
// migration is number (0: none), and what to do; "" and "" if it can.
func Problem(number int64) (detail, nextStep string) {
	const migrate = `run "sbctl migrate up"`
	latest := Latest()
	supported := (latest/releaseStep+2)*releaseStep - 1
	switch {
	case number == 0:
		return "the database has no schema", migrate
	case number < baseline:
		e := &EarlierBuildError{number}
		return e.Detail(), e.nextStep()
	case number < latest:
		return fmt.Sprintf("the database is at migration %d, and this version needs %d", number, latest), migrate
	case number > supported:
		return fmt.Sprintf("the database is at migration %d, and this version supports up to %d", number, supported),
			"run a newer version of scoreboardd"
	}
	return "", ""
}
