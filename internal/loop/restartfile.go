package loop

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"time"

	"wamble/internal/store"
)

// A restart file is the memory of a profile, which a start reads instead of the store after a crash of the
// process. The state that a process hands over is such a file without a journal's id. In little endian:
//
//	magic                      "wamble restart 1\n", whose number is the version
//	journal id 16, length of the name 2, name of the profile
//	slices: length 4, CRC-32C 4 of what follows, mark 8, ahead 8, bytes
//	the end: a slice without bytes
//
// The file is not synced: after a loss of power it may be damaged, and the start reads the store.
const restartMagic = "wamble restart 1\n"

const sliceHead = 4 + 4 + 8 + 8

// errRestartFile is returned for a file that is not the whole memory of the profile.
var errRestartFile = errors.New("not a restart file of this profile and journal")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// memorySlice is a slice of a profile's memory, and the last journal message that it includes.
type memorySlice struct {
	lastSeq     uint64
	clockOffset time.Duration
	data        []byte
}

// sliceWriter writes slices to a file.
type sliceWriter struct {
	file *os.File
	buf  *bufio.Writer
}

func restartHead(journal store.JournalID, profile string) []byte {
	head := append([]byte(restartMagic), journal[:]...)
	head = binary.LittleEndian.AppendUint16(head, uint16(len(profile)))
	return append(head, profile...)
}

func createRestartFile(path string, journal store.JournalID, profile string) (*restartWriter, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path+".new", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	return &restartWriter{path, newSliceWriter(f, journal, profile)}, nil
}

func newSliceWriter(f *os.File, journal store.JournalID, profile string) *sliceWriter {
	w := &sliceWriter{f, bufio.NewWriterSize(f, 256<<10)}
	w.buf.Write(restartHead(journal, profile)) // buf keeps an error for end
	return w
}

func (w *sliceWriter) add(s memorySlice) error {
	var head [sliceHead]byte
	binary.LittleEndian.PutUint32(head[:], uint32(len(s.data)))
	binary.LittleEndian.PutUint64(head[8:], s.lastSeq)
	binary.LittleEndian.PutUint64(head[16:], uint64(s.clockOffset))
	sum := crc32.Update(crc32.Checksum(head[8:], castagnoli), castagnoli, s.data)
	binary.LittleEndian.PutUint32(head[4:], sum)
	if _, err := w.buf.Write(head[:]); err != nil {
		return err
	}
	_, err := w.buf.Write(s.data)
	return err
}

// end ends and closes the file.
func (w *sliceWriter) end() error {
	err := w.add(memorySlice{})
	if err == nil {
		err = w.buf.Flush()
	}
	return errors.Join(err, w.file.Close())
}

// WriteState writes slices to the file of a state, and closes it. Name is for ReadState.
func WriteState(file *os.File, name string, state iter.Seq2[[]byte, error]) error {
	w := newSliceWriter(file, store.JournalID{}, name)
	for data, err := range state {
		if err == nil {
			err = w.add(memorySlice{data: data})
		}
		if err != nil {
			return errors.Join(err, file.Close())
		}
	}
	return w.end()
}

// ReadState returns the slices of a state. Errors: errRestartFile, or one of the system.
func ReadState(file *os.File, name string) (state [][]byte, err error) {
	r, err := newRestartReader(file, store.JournalID{}, name)
	if err != nil {
		return nil, err
	}
	for {
		switch s, err := r.next(nil); err {
		case nil:
			state = append(state, s.data)
		case io.EOF:
			return state, nil
		default:
			return nil, err
		}
	}
}

// restartWriter writes a new file beside the present one.
type restartWriter struct {
	path string
	*sliceWriter
}

// finish ends the file and renames it to its place.
func (w *restartWriter) finish() error {
	if err := w.end(); err != nil {
		return err
	}
	// Not over the old file: file systems then write the new one to the disk at once, and syncs of the
	// journal wait for that. After a crash in between the start reads the database.
	if err := os.Remove(w.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.Rename(w.path+".new", w.path)
}

// drop deletes the unfinished file.
func (w *restartWriter) drop() {
	w.file.Close()
	os.Remove(w.path + ".new")
}

// restartReader reads a restart file.
type restartReader struct {
	file      *os.File
	buf       *bufio.Reader
	remaining int64
}

// openRestartFile opens the file of a profile. It returns nil if the file does not exist. Errors:
// errRestartFile, or one of the system.
func openRestartFile(path string, journal store.JournalID, profile string) (*restartReader, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	r, err := newRestartReader(f, journal, profile)
	if err != nil {
		f.Close()
	}
	return r, err
}

func newRestartReader(f *os.File, journal store.JournalID, profile string) (*restartReader, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	r := &restartReader{f, bufio.NewReaderSize(f, 1<<20), info.Size()}
	want := restartHead(journal, profile)
	head := make([]byte, len(want))
	if _, err := io.ReadFull(r.buf, head); err != nil || string(head) != string(want) {
		return nil, errRestartFile
	}
	r.remaining -= int64(len(head))
	return r, nil
}

// next returns the next slice, and io.EOF at the end of a complete file. The bytes are valid until the next
// call. Errors: errRestartFile.
func (r *restartReader) next(buf []byte) (s memorySlice, err error) {
	var head [sliceHead]byte
	if _, err := io.ReadFull(r.buf, head[:]); err != nil {
		return s, fmt.Errorf("%w: it is cut off", errRestartFile)
	}
	n := int64(binary.LittleEndian.Uint32(head[:]))
	if r.remaining -= sliceHead + n; r.remaining < 0 {
		return s, fmt.Errorf("%w: it is cut off", errRestartFile)
	}
	s = memorySlice{
		lastSeq:     binary.LittleEndian.Uint64(head[8:]),
		clockOffset: time.Duration(binary.LittleEndian.Uint64(head[16:])), data: append(buf[:0], make([]byte, n)...),
	}
	if _, err := io.ReadFull(r.buf, s.data); err != nil {
		return s, fmt.Errorf("%w: it is cut off", errRestartFile)
	}
	if crc32.Update(crc32.Checksum(head[8:], castagnoli), castagnoli, s.data) != binary.LittleEndian.Uint32(head[4:]) {
		return s, fmt.Errorf("%w: a checksum is wrong", errRestartFile)
	}
	if n == 0 {
		if r.remaining != 0 {
			return s, fmt.Errorf("%w: it has something behind its end", errRestartFile)
		}
		return s, io.EOF
	}
	return s, nil
}

// CheckRestartFile reads the file of a profile to its end. A missing file is no error.
func CheckRestartFile(path string, journal store.JournalID, profile string) error {
	r, err := openRestartFile(path, journal, profile)
	if r == nil || err != nil {
		return err
	}
	defer r.close()
	var s memorySlice
	for err == nil {
		s, err = r.next(s.data)
	}
	if err == io.EOF {
		return nil
	}
	return err
}

func (r *restartReader) close() { r.file.Close() }
