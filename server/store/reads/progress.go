package reads

import (
	"context"
	"fmt"

	"github.com/scoreboard/scoreboard/server/scoreboard"
	"github.com/scoreboard/scoreboard/server/store/internal/pg"
)

// Progress returns how far the database has come. Everything that was committed before its
// time is in it; of a database without the role maintenance the time does not advance.
func (r *Reads) Progress(ctx context.Context) (scoreboard.Progress, error) {
	p, err := pg.ReadProgress(ctx, r.db)
	if err != nil {
		return p, pg.Translate(fmt.Errorf("read how far the database has come: %w", err))
	}
	return p, nil
}
