//go:build !linux && !darwin

package health

import "errors"

func diskOf(string) (free, total uint64, err error) {
	return 0, 0, errors.New("not known on this system")
}
