package handoff

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// The format of a state file, in little endian:
//
//	magic                    "wamble state 1\n", whose number is the version
//	length of the name 2, length of the state 8, CRC-32C 4 of name and state
//	name of the profile, state
//
// The file is not synced. It is read at once on the same machine; after a loss of power
// journal and store have everything.
const (
	stateMagic = "wamble state 1\n"
	headerSize = len(stateMagic) + 14
	maxState   = 4 << 30
)

const (
	filePrefix = "handoff-"
	fileSuffix = ".state"
)

// ErrStateFile is returned when a file is not private, not complete, or not the state of the
// requested profile.
var ErrStateFile = errors.New("not a state file that can be adopted")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

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

// Write writes the state and closes the file.
func (f *File) Write(state []byte) error {
	head := append([]byte(stateMagic), make([]byte, 14)...)
	tail := head[len(stateMagic):]
	binary.LittleEndian.PutUint16(tail, uint16(len(f.profile)))
	binary.LittleEndian.PutUint64(tail[2:], uint64(len(state)))
	sum := crc32.Checksum([]byte(f.profile), castagnoli)
	binary.LittleEndian.PutUint32(tail[10:], crc32.Update(sum, castagnoli, state))
	head = append(head, f.profile...)
	_, err := f.file.Write(head)
	if err == nil {
		_, err = f.file.Write(state)
	}
	if err = errors.Join(err, f.file.Close()); err != nil {
		return fmt.Errorf("state file: %w", err)
	}
	return nil
}

// Remove closes and removes the file.
func (f *File) Remove() {
	f.file.Close()
	os.Remove(f.file.Name())
}

// Read returns the state in a file. It fails if the file is not private, too long, or not the
// state of that profile. Errors: ErrStateFile, or one of the system.
func Read(path, profile string) ([]byte, error) {
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
	if info.Size() > maxState {
		return nil, fmt.Errorf("%w: %s has %d bytes", ErrStateFile, path, info.Size())
	}
	b := make([]byte, info.Size())
	if _, err := io.ReadFull(f, b); err != nil {
		return nil, fmt.Errorf("state file: %w", err)
	}
	state, err := decodeState(b, profile)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return state, nil
}

// decodeState decodes the bytes of a state file.
func decodeState(b []byte, profile string) (state []byte, err error) {
	if len(b) < headerSize {
		return nil, fmt.Errorf("%w: it is not whole", ErrStateFile)
	}
	head, rest := b[len(stateMagic):headerSize], b[headerSize:]
	if string(b[:len(stateMagic)]) != stateMagic {
		return nil, fmt.Errorf("%w: it is of another version, or none", ErrStateFile)
	}
	n := uint64(binary.LittleEndian.Uint16(head))
	size := binary.LittleEndian.Uint64(head[2:])
	if all := uint64(len(rest)); n > all || size != all-n {
		return nil, fmt.Errorf("%w: it is not whole", ErrStateFile)
	}
	if crc32.Checksum(rest, castagnoli) != binary.LittleEndian.Uint32(head[10:]) {
		return nil, fmt.Errorf("%w: its checksum is wrong", ErrStateFile)
	}
	if name := string(rest[:n]); name != profile {
		return nil, fmt.Errorf("%w: it is of profile %q, not of %q", ErrStateFile, name, profile)
	}
	return rest[n:], nil
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
