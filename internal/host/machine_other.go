//go:build !linux

package host

import "errors"

var errElsewhere = errors.New("not known on this system")

func freeSpace(string) (uint64, error) { return 0, errElsewhere }

func fileLimit() (uint64, error) { return 0, errElsewhere }

func clockSynced() (bool, error) { return false, errElsewhere }
