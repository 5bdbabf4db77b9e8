package handoff

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// A state file is, in little endian:
//
//	magic                    "wamble state 1\n", whose number is the version
//	length of the name 2, length of the state 8, CRC-32C 4 of name and state
//	name of the profile, state
//
// It is written for a process that follows at once on the same machine, so that
// it is not synced: after a loss of power journal and store have everything.
const (
	stateMagic = "wamble state 1\n"
	headerSize = len(stateMagic) + 14
	maxState   = 4 << 30
)

const (
	filePrefix = "handoff-"
	fileSuffix = ".state"
)

// ErrStateFile is returned when a file is not the private, whole state of the
// profile that was asked for.
var ErrStateFile = errors.New("not a state file that can be adopted")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// File is the state of a profile that is about to be written.
type File struct {
	file    *os.File
	profile string
}

// Create makes a private file in dir with room for about size bytes, while there
// is still time for an error.
func Create(dir, profile string, size int64) (*File, error) {
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
	made := &File{f, profile}
	err = reserve(f, size)
	if err == nil {
		err = fill(f, size)
	}
	if err != nil {
		made.Remove()
		return nil, fmt.Errorf("state file %s: no room for %d bytes: %w", f.Name(), size, err)
	}
	return made, nil
}

// fill writes zeros, so that the kernel has the pages of the file when the state
// itself is written.
func fill(f *os.File, size int64) error {
	zeros := make([]byte, 256<<10)
	for at := int64(0); at < size; at += int64(len(zeros)) {
		if _, err := f.WriteAt(zeros[:min(int64(len(zeros)), size-at)], at); err != nil {
			return err
		}
	}
	return nil
}

// Path returns the name of the file.
func (f *File) Path() string { return f.file.Name() }

// Write writes the state and closes the file.
func (f *File) Write(state []byte) error {
	head := append([]byte(stateMagic), make([]byte, 14)...)
	tail := head[len(stateMagic):]
	binary.LittleEndian.PutUint16(tail, uint16(len(f.profile)))
	binary.LittleEndian.PutUint64(tail[2:], uint64(len(state)))
	sum := crc32.Update(crc32.Checksum([]byte(f.profile), castagnoli), castagnoli, state)
	binary.LittleEndian.PutUint32(tail[10:], sum)
	head = append(head, f.profile...)
	_, err := f.file.Write(head)
	if err == nil {
		_, err = f.file.Write(state)
	}
	if err == nil { // give back what was reserved beyond
		err = f.file.Truncate(int64(len(head) + len(state)))
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

// Read returns the state in a file, and a function that gives its memory back:
// nobody may look at the state afterwards. Errors: ErrStateFile, or one of the
// system.
func Read(path, profile string) (state []byte, done func(), err error) {
	f, err := openPrivate(path)
	if err != nil {
		return nil, nil, fmt.Errorf("state file: %w", err)
	}
	defer f.Close()
	b, done, err := contents(f, path)
	if err != nil {
		return nil, nil, err
	}
	if state, err = decodeState(b, profile); err != nil {
		done()
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	return state, done, nil
}

// contents returns what is in a state file that is private and not too long.
func contents(f *os.File, path string) (b []byte, done func(), err error) {
	info, err := f.Stat()
	if err != nil {
		return nil, nil, fmt.Errorf("state file: %w", err)
	}
	if !info.Mode().IsRegular() || info.Mode().Perm()&0o077 != 0 || !ours(info) {
		return nil, nil, fmt.Errorf("%w: %s is not a private file of ours", ErrStateFile, path)
	}
	if info.Size() == 0 || info.Size() > maxState {
		return nil, nil, fmt.Errorf("%w: %s has %d bytes", ErrStateFile, path, info.Size())
	}
	if b, done, err = view(f, info.Size()); err != nil {
		return nil, nil, fmt.Errorf("state file: %w", err)
	}
	return b, done, nil
}

// decodeState returns the state in the bytes of a file.
func decodeState(b []byte, profile string) ([]byte, error) {
	if len(b) < headerSize || string(b[:len(stateMagic)]) != stateMagic {
		return nil, fmt.Errorf("%w: it is of another version, or none", ErrStateFile)
	}
	head, rest := b[len(stateMagic):headerSize], b[headerSize:]
	n := int(binary.LittleEndian.Uint16(head))
	size := binary.LittleEndian.Uint64(head[2:])
	if n > len(rest) || size != uint64(len(rest)-n) {
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

// Sweep removes the state files in dir that a process left which died during a
// handoff, and returns how many there were. Nobody can use them: only the image
// that follows at once could.
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
