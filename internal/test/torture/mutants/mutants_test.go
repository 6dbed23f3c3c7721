package main

import (
	"path/filepath"
	"testing"
)

// A mutant whose text is gone from the source would test nothing.
func TestEveryMutantApplies(t *testing.T) {
	t.Parallel()
	names := make(map[string]bool)
	for _, m := range mutants {
		if names[m.name] || len(m.rules) == 0 || m.old == m.new {
			t.Errorf("mutant %q is incomplete or named twice", m.name)
		}
		names[m.name] = true
		if _, err := m.apply(filepath.Join("..", "..", "..", "..")); err != nil {
			t.Error(err)
		}
	}
}
