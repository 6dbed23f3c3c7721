package spark

import (
	"slices"
	"testing"
)

func TestColumns(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		values []float64
		top    float64
		height int
		want   []string
	}{
		"one line":      {[]float64{0, 0.01, 4, 8, 9, -1}, 8, 1, []string{" ▁▅██ "}},
		"two lines":     {[]float64{1, 8, 9, 16, 20}, 16, 2, []string{" ▁▂██", "▂████"}},
		"nothing":       {nil, 1, 2, []string{"", ""}},
		"without a top": {[]float64{0, 0}, 0, 1, []string{"  "}},
	} {
		if got := Columns(c.values, c.top, c.height, Blocks); !slices.Equal(got, c.want) {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}
