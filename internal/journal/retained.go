package journal

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"iter"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"wamble/internal/store"
	"wamble/runner"
)

// RetainOptions configures how long messages are kept that the store has: as long as a standby that replaces
// the store may be behind. Messages that a restart needs (see Drain.Need) are kept longer.
type RetainOptions struct {
	Dir    string // of all profiles; "" keeps nothing
	Age    time.Duration
	Bytes  int64 // per profile
	Needed int64 // per profile, including what a restart needs; at least Bytes
}

// ErrRetainedTooLarge is reported when messages that a restart needs were deleted, because there were more than
// RetainOptions.Needed.
var ErrRetainedTooLarge = errors.New("a restart needs more messages than may be kept")

// retained is the messages that the drain of a profile has recently brought to the store: files beside the
// journal, written without fsync and deleted one by one from the oldest. A file begins with the journal's
// id, and is named after its first message. Then come batches:
//
//	4 bytes  length of what follows the checksum, little endian
//	4 bytes  checksum, CRC-32C
//	…        messages: number and length (varints), frame
type retained struct {
	o       RetainOptions
	dir     string
	journal store.JournalID
	files   []retainedFile // oldest first
	open    *os.File       // the newest; nil: none is open
	buf     []byte
	need    atomic.Uint64 // later messages are needed
	pin     pin
}

// pin keeps the messages behind a number until a time, for a backup.
type pin struct {
	after atomic.Uint64
	until atomic.Int64 // ns since 1970
}

// needed returns the message behind which all are needed at a time; the highest number means none.
func (r *retained) needed(now time.Time) uint64 {
	need := r.need.Load()
	if now.UnixNano() < r.pin.until.Load() {
		need = min(need, r.pin.after.Load())
	}
	return need
}

type retainedFile struct {
	first uint64 // message
	size  int64
	at    time.Time // of its last batch
}

// retainedParts is the number of files at the bound Bytes, so this part of it is deleted at once.
const retainedParts = 16

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// openRetained opens the kept messages of a worker. Files of another journal are deleted.
func openRetained(o RetainOptions, journal store.JournalID, worker uint32) *retained {
	k := findRetained(o, journal, worker, func(path string) { os.Remove(path) })
	k.need.Store(math.MaxUint64)
	return k
}

// findRetained lists the kept messages of a worker, and calls strange with each file of another journal.
func findRetained(o RetainOptions, journal store.JournalID, worker uint32, strange func(path string)) *retained {
	k := &retained{o: o, journal: journal, dir: filepath.Join(o.Dir, strconv.FormatUint(uint64(worker), 10))}
	entries, _ := os.ReadDir(k.dir) // ignored: there is none yet, or it cannot be read
	for _, e := range entries {
		first, err := strconv.ParseUint(e.Name(), 10, 64)
		info, ierr := e.Info()
		if err != nil || ierr != nil {
			continue
		}
		f := retainedFile{first, info.Size(), info.ModTime()}
		if !k.isOurs(f) {
			strange(k.path(f))
			continue
		}
		k.files = append(k.files, f)
	}
	slices.SortFunc(k.files, func(a, b retainedFile) int {
		if a.first < b.first {
			return -1
		}
		return 1
	})
	return k
}

func (r *retained) path(f retainedFile) string {
	return filepath.Join(r.dir, fmt.Sprintf("%020d", f.first))
}

func (r *retained) isOurs(f retainedFile) bool {
	file, err := os.Open(r.path(f))
	if err != nil {
		return false
	}
	defer file.Close()
	var id store.JournalID
	_, err = io.ReadFull(file, id[:])
	return err == nil && id == r.journal
}

// add keeps the messages of a batch. On an error all kept messages are deleted: the disk may be full, and
// the journal needs the room more.
func (r *retained) add(b *runner.Batched, now time.Time) error {
	if len(b.Deliveries) == 0 || r.o.Age == 0 && r.needed(now) == math.MaxUint64 {
		return nil
	}
	buf := append(r.buf[:0], make([]byte, 8)...)
	for i := range b.Deliveries {
		dl := &b.Deliveries[i]
		buf = binary.AppendUvarint(buf, dl.Row.Seq)
		buf = binary.AppendUvarint(buf, uint64(len(dl.Payload)))
		buf = append(buf, dl.Payload...)
	}
	r.buf = buf
	binary.LittleEndian.PutUint32(buf, uint32(len(buf)-8))
	binary.LittleEndian.PutUint32(buf[4:], crc32.Checksum(buf[8:], castagnoli))
	err := r.write(b.Deliveries[0].Row.Seq, buf, now)
	if err != nil {
		r.drop(len(r.files))
		return fmt.Errorf("keep what the store has: %w", err)
	}
	if size, outgrown := r.trim(now); outgrown {
		return fmt.Errorf("%w: %d MB", ErrRetainedTooLarge, size>>20)
	}
	return nil
}

func (r *retained) write(first uint64, batch []byte, now time.Time) error {
	if last := len(r.files) - 1; r.open != nil && r.files[last].size+int64(len(batch)) > r.o.Bytes/retainedParts {
		r.open.Close()
		r.open = nil
	}
	if r.open == nil {
		if err := os.MkdirAll(r.dir, 0o700); err != nil {
			return err
		}
		// A message that comes again after a crash may be in a file already.
		f := retainedFile{first: first, at: now}
		r.files = slices.DeleteFunc(r.files, func(old retainedFile) bool {
			return old.first >= first && os.Remove(r.path(old)) == nil
		})
		file, err := os.OpenFile(r.path(f), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
		if err != nil {
			return err
		}
		r.open, r.files = file, append(r.files, f)
		batch = append(r.journal[:len(r.journal):len(r.journal)], batch...)
	}
	n, err := r.open.Write(batch)
	f := &r.files[len(r.files)-1]
	f.size, f.at = f.size+int64(n), now
	return err
}

// trim deletes the files that are too old or too many. It returns the size before, and whether it has
// deleted needed messages.
func (r *retained) trim(now time.Time) (all int64, outgrown bool) {
	for _, f := range r.files {
		all += f.size
	}
	n, size, need := 0, all, r.needed(now)
	for ; n < len(r.files)-1 && (size > r.o.Bytes || now.Sub(r.files[n].at) > r.o.Age); n++ {
		if r.files[n+1].first-1 > need {
			if size <= max(r.o.Bytes, r.o.Needed) {
				break
			}
			outgrown = true
		}
		size -= r.files[n].size
	}
	r.drop(n)
	return all, outgrown
}

// drop deletes the n oldest files.
func (r *retained) drop(n int) {
	for _, f := range r.files[:n] {
		os.Remove(r.path(f))
	}
	if n == len(r.files) && r.open != nil {
		r.open.Close()
		r.open = nil
	}
	r.files = r.files[n:]
}

// after yields the kept messages behind a number, in order. Frames share memory only with others of their
// batch. Behind an unreadable batch it skips the rest of the file.
func (r *retained) after(seq uint64) iter.Seq2[uint64, []byte] {
	return func(yield func(uint64, []byte) bool) {
		for i, f := range r.files {
			if i+1 < len(r.files) && r.files[i+1].first <= seq+1 {
				continue
			}
			for batch := range r.batches(f) {
				for len(batch) > 0 {
					n, a := binary.Uvarint(batch)
					size, b := binary.Uvarint(batch[max(a, 0):])
					if a <= 0 || b <= 0 || size > uint64(len(batch)-a-b) {
						return
					}
					frame := batch[a+b : a+b+int(size)]
					batch = batch[a+b+int(size):]
					if n <= seq {
						continue
					}
					if seq = n; !yield(n, frame) {
						return
					}
				}
			}
		}
	}
}

// batches yields the intact batches of a file.
func (r *retained) batches(f retainedFile) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		file, err := os.Open(r.path(f))
		if err != nil {
			return
		}
		defer file.Close()
		buffered := bufio.NewReaderSize(file, 1<<20)
		if _, err := buffered.Discard(len(r.journal)); err != nil {
			return
		}
		for {
			var head [8]byte
			if _, err := io.ReadFull(buffered, head[:]); err != nil {
				return
			}
			size := int64(binary.LittleEndian.Uint32(head[:]))
			if size > f.size {
				return
			}
			batch := make([]byte, size)
			if _, err := io.ReadFull(buffered, batch); err != nil ||
				crc32.Checksum(batch, castagnoli) != binary.LittleEndian.Uint32(head[4:]) {
				return
			}
			if !yield(batch) {
				return
			}
		}
	}
}

// close closes the open file.
func (r *retained) close() error {
	if r.open == nil {
		return nil
	}
	err := r.open.Close()
	r.open = nil
	if errors.Is(err, os.ErrClosed) {
		return nil
	}
	return err
}
