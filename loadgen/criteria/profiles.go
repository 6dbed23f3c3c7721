package criteria

import (
	"embed"
	"io/fs"
)

//go:embed scenarios/*.yaml
var embedded embed.FS

// Profiles are the scenarios that come with the program, a file each.
func Profiles() fs.FS {
	files, err := fs.Sub(embedded, "scenarios")
	if err != nil {
		panic(err) // the path is a constant and valid
	}
	return files
}
