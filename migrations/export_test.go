package migrations

import (
	"context"
	"testing"

	"github.com/pressly/goose/v3"
)

// UpTo applies the migrations up to a number.
func UpTo(t *testing.T, url string, number int64) {
	t.Helper()
	err := with(t.Context(), url, func(p *goose.Provider) error {
		_, err := p.UpTo(context.Background(), number)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
