package handoff

import (
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"

	"wamble/internal/loop"
)

const (
	filePrefix = "handoff-"
	fileSuffix = ".state"
)

// ErrStateFile is returned when a file is not private, not complete, or not the state of the
// requested profile. The format of a state is that of a restart file (internal/loop). It is not
// synced: it is read at once on the same machine; after a loss of power journal and store have
// everything.
var ErrStateFile = errors.New("not a state file that can be adopted")

// File is a state file that is being written.
type File struct {
	file    *os.File
	profile string
}

// Create creates a private file in dir.
func Create(dir, profile string) (*File, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("state directory: %w", err)
	}
	info, err := os.Stat(dir)
	if err != nil {
		return nil, fmt.Errorf("state directory: %w", err)
	}
	if info.Mode()&0o002 != 0 {
		return nil, fmt.Errorf("state directory %s: everybody may write there; it must be private", dir)
	}
	f, err := os.CreateTemp(dir, filePrefix+profile+"-*"+fileSuffix) // mode 0600
	if err != nil {
		return nil, fmt.Errorf("state file: %w", err)
	}
	return &File{file: f, profile: profile}, nil
}

// Path returns the name of the file.
func (f *File) Path() string { return f.file.Name() }

// Write writes the slices of a state and closes the file.
func (f *File) Write(state iter.Seq2[[]byte, error]) error {
	if err := loop.WriteState(f.file, f.profile, state); err != nil {
		return fmt.Errorf("state file: %w", err)
	}
	return nil
}

// Remove closes and removes the file.
func (f *File) Remove() {
	f.file.Close()
	os.Remove(f.file.Name())
}

// Read returns the slices of a state. It fails if the file is not private, or not the state of
// that profile. Errors: ErrStateFile, also if a read fails; one of the system if the file cannot be opened.
func Read(path, profile string) ([][]byte, error) {
	f, err := openPrivate(path)
	if err != nil {
		return nil, fmt.Errorf("state file: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("state file: %w", err)
	}
	if !info.Mode().IsRegular() || info.Mode().Perm()&0o077 != 0 || !ours(info) {
		return nil, fmt.Errorf("%w: %s is not a private file of ours", ErrStateFile, path)
	}
	state, err := loop.ReadState(f, profile)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrStateFile, path, err)
	}
	return state, nil
}

// Sweep removes the state files in dir of a process that died during a handoff, and returns
// their number. They are of no use for a later start.
func Sweep(dir string) (int, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	n := 0
	for _, e := range entries {
		name := e.Name()
		if !e.Type().IsRegular() || !strings.HasPrefix(name, filePrefix) || !strings.HasSuffix(name, fileSuffix) {
			continue
		}
		if gone := os.Remove(filepath.Join(dir, name)); gone != nil {
			err = errors.Join(err, gone)
			continue
		}
		n++
	}
	return n, err
}
