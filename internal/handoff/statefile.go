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
// Version 2 has a part that was written ahead between name and state, and its length in
// 8 bytes behind the CRC, which covers it.
//
// It is written for a process that follows at once on the same machine, so that
// it is not synced: after a loss of power journal and store have everything.
const (
	stateMagic = "wamble state 1\n"
	aheadMagic = "wamble state 2\n"
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
	ahead   int64  // bytes that were written ahead
	sum     uint32 // of name and these
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
	made := &File{file: f, profile: profile, sum: crc32.Checksum([]byte(profile), castagnoli)}
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

// WriteAhead writes more of the part that is written before the state is known.
func (f *File) WriteAhead(b []byte) error {
	if _, err := f.file.WriteAt(b, f.aheadAt()+f.ahead); err != nil {
		return fmt.Errorf("state file: %w", err)
	}
	f.ahead += int64(len(b))
	f.sum = crc32.Update(f.sum, castagnoli, b)
	return nil
}

// aheadAt is where the part begins that is written ahead.
func (f *File) aheadAt() int64 { return int64(headerSize + 8 + len(f.profile)) }

// Write writes the state and closes the file.
func (f *File) Write(state []byte) error {
	head := append([]byte(stateMagic), make([]byte, 14)...)
	tail := head[len(stateMagic):]
	binary.LittleEndian.PutUint16(tail, uint16(len(f.profile)))
	binary.LittleEndian.PutUint64(tail[2:], uint64(len(state)))
	binary.LittleEndian.PutUint32(tail[10:], crc32.Update(f.sum, castagnoli, state))
	if f.ahead > 0 {
		copy(head, aheadMagic)
		head = binary.LittleEndian.AppendUint64(head, uint64(f.ahead))
	}
	head = append(head, f.profile...)
	at := int64(len(head)) + f.ahead
	_, err := f.file.WriteAt(head, 0)
	if err == nil {
		_, err = f.file.WriteAt(state, at)
	}
	if err == nil { // give back what was reserved beyond
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

// Read returns the state in a file, what was written ahead of it, and a function that
// gives the memory of both back: nobody may look at them afterwards. Errors:
// ErrStateFile, or one of the system.
func Read(path, profile string) (state, ahead []byte, done func(), err error) {
	f, err := openPrivate(path)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("state file: %w", err)
	}
	defer f.Close()
	b, done, err := contents(f, path)
	if err != nil {
		return nil, nil, nil, err
	}
	if state, ahead, err = decodeState(b, profile); err != nil {
		done()
		return nil, nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	return state, ahead, done, nil
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

// decodeState returns the state in the bytes of a file, and what was written ahead.
func decodeState(b []byte, profile string) (state, ahead []byte, err error) {
	if len(b) < headerSize {
		return nil, nil, fmt.Errorf("%w: it is not whole", ErrStateFile)
	}
	head, rest := b[len(stateMagic):headerSize], b[headerSize:]
	before := uint64(0)
	switch magic := string(b[:len(stateMagic)]); {
	case magic == stateMagic:
	case magic == aheadMagic && len(rest) >= 8:
		before, rest = binary.LittleEndian.Uint64(rest), rest[8:]
	default:
		return nil, nil, fmt.Errorf("%w: it is of another version, or none", ErrStateFile)
	}
	n := uint64(binary.LittleEndian.Uint16(head))
	size := binary.LittleEndian.Uint64(head[2:])
	if all := uint64(len(rest)); n > all || before > all-n || size != all-n-before {
		return nil, nil, fmt.Errorf("%w: it is not whole", ErrStateFile)
	}
	if crc32.Checksum(rest, castagnoli) != binary.LittleEndian.Uint32(head[10:]) {
		return nil, nil, fmt.Errorf("%w: its checksum is wrong", ErrStateFile)
	}
	if name := string(rest[:n]); name != profile {
		return nil, nil, fmt.Errorf("%w: it is of profile %q, not of %q", ErrStateFile, name, profile)
	}
	return rest[n+before:], rest[n : n+before], nil
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
