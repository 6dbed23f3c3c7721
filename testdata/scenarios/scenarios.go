// Package scenarios carries the acceptance scenarios inside the program.
package scenarios

import "embed"

// Files are the scenarios, a file each.
//
//go:embed *.yaml
var Files embed.FS
