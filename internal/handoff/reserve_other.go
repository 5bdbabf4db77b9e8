//go:build !linux

package handoff

import "os"

func reserve(*os.File, int64) error { return nil }
