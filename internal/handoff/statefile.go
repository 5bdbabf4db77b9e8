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

// Create creates a private file in dir and reserves about size bytes, so that lack of room
// is noticed early.
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
	made := &File{file: f, profile: profile}
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

// fill writes zeros, so that the file's pages are in the page cache when the state is
// written.
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
	sum := crc32.Checksum([]byte(f.profile), castagnoli)
	binary.LittleEndian.PutUint32(tail[10:], crc32.Update(sum, castagnoli, state))
	head = append(head, f.profile...)
	at := int64(len(head))
	_, err := f.file.WriteAt(head, 0)
	if err == nil {
		_, err = f.file.WriteAt(state, at)
	}
	if err == nil { // release the unused room
		err = f.file.Truncate(at + int64(len(state)))
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

// Read returns the state in a file. Done releases its memory, which must not be used
// afterwards. Errors: ErrStateFile, or one of the
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

// contents returns the bytes of a state file. It fails if the file is not private or too
// long.
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
