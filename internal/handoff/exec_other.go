//go:build !unix

package handoff

import (
	"io/fs"
	"os"
)

// Exec has no counterpart on this platform.
func (h *Inheritance) Exec(string, []string, []string) error {
	return NotReady("this platform cannot replace the image of a process")
}

// Back has no counterpart on this platform.
func (h *Inheritance) Back(why error, _ []string, _ []string) error { return why }

// Self has no counterpart on this platform.
func Self() (*os.File, error) {
	return nil, NotReady("this platform cannot replace the image of a process")
}

func closeOnExec(int, bool) bool { return false }

func openPrivate(path string) (*os.File, error) { return os.Open(path) }

func ours(fs.FileInfo) bool { return true }

// Detach has no counterpart on this platform.
func Detach(f *os.File) (int, error) {
	f.Close()
	return 0, NotReady("this platform cannot replace the image of a process")
}

// Duplicate has no counterpart on this platform.
func Duplicate(map[string]int, string) (*os.File, error) { return nil, nil }
