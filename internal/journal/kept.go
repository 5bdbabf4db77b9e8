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

// KeepOptions configures how long messages are kept that the store has: as long as a standby that replaces
// the store may be behind. Messages that a restart needs (see Drain.Need) are kept longer.
type KeepOptions struct {
	Dir    string // of all profiles; "" keeps nothing
	Age    time.Duration
	Bytes  int64 // per profile
	Needed int64 // per profile, including what a restart needs; at least Bytes
}

// ErrOutgrown is reported when messages that a restart needs were deleted, because there were more than
// KeepOptions.Needed.
var ErrOutgrown = errors.New("a restart needs more messages than may be kept")

// kept is the messages that the drain of a profile has recently brought to the store: files beside the
// journal, written without fsync and deleted one by one from the oldest. A file begins with the journal's
// id, and is named after its first message. Then come batches:
//
//	4 bytes  length of what follows the checksum, little endian
//	4 bytes  checksum, CRC-32C
//	…        messages: number and length (varints), frame
type kept struct {
	o       KeepOptions
	dir     string
	journal store.JournalID
	files   []keptFile // oldest first
	open    *os.File   // the newest; nil: none is open
	buf     []byte
	need    atomic.Uint64 // later messages are needed
	held    hold
}

// hold keeps the messages behind a number until a time, for a backup.
type hold struct {
	after atomic.Uint64
	until atomic.Int64 // ns since 1970
}

// needed returns the message behind which all are needed at a time; the highest number means none.
func (k *kept) needed(now time.Time) uint64 {
	need := k.need.Load()
	if now.UnixNano() < k.held.until.Load() {
		need = min(need, k.held.after.Load())
	}
	return need
}

type keptFile struct {
	first uint64 // message
	size  int64
	at    time.Time // of its last batch
}

// keptParts is the number of files at the bound Bytes, so this part of it is deleted at once.
const keptParts = 16

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// openKept opens the kept messages of a worker. Files of another journal are deleted.
func openKept(o KeepOptions, journal store.JournalID, worker uint32) *kept {
	k := findKept(o, journal, worker, func(path string) { os.Remove(path) })
	k.need.Store(math.MaxUint64)
	return k
}

// findKept lists the kept messages of a worker, and calls strange with each file of another journal.
func findKept(o KeepOptions, journal store.JournalID, worker uint32, strange func(path string)) *kept {
	k := &kept{o: o, journal: journal, dir: filepath.Join(o.Dir, strconv.FormatUint(uint64(worker), 10))}
	entries, _ := os.ReadDir(k.dir) // ignored: there is none yet, or it cannot be read
	for _, e := range entries {
		first, err := strconv.ParseUint(e.Name(), 10, 64)
		info, ierr := e.Info()
		if err != nil || ierr != nil {
			continue
		}
		f := keptFile{first, info.Size(), info.ModTime()}
		if !k.ours(f) {
			strange(k.path(f))
			continue
		}
		k.files = append(k.files, f)
	}
	slices.SortFunc(k.files, func(a, b keptFile) int {
		if a.first < b.first {
			return -1
		}
		return 1
	})
	return k
}

func (k *kept) path(f keptFile) string { return filepath.Join(k.dir, fmt.Sprintf("%020d", f.first)) }

func (k *kept) ours(f keptFile) bool {
	file, err := os.Open(k.path(f))
	if err != nil {
		return false
	}
	defer file.Close()
	var id store.JournalID
	_, err = io.ReadFull(file, id[:])
	return err == nil && id == k.journal
}

// add keeps the messages of a batch. On an error all kept messages are deleted: the disk may be full, and
// the journal needs the room more.
func (k *kept) add(b *runner.Batched, now time.Time) error {
	if len(b.Deliveries) == 0 || k.o.Age == 0 && k.needed(now) == math.MaxUint64 {
		return nil
	}
	buf := append(k.buf[:0], make([]byte, 8)...)
	for i := range b.Deliveries {
		dl := &b.Deliveries[i]
		buf = binary.AppendUvarint(buf, dl.Row.Seq)
		buf = binary.AppendUvarint(buf, uint64(len(dl.Payload)))
		buf = append(buf, dl.Payload...)
	}
	k.buf = buf
	binary.LittleEndian.PutUint32(buf, uint32(len(buf)-8))
	binary.LittleEndian.PutUint32(buf[4:], crc32.Checksum(buf[8:], castagnoli))
	err := k.write(b.Deliveries[0].Row.Seq, buf, now)
	if err != nil {
		k.drop(len(k.files))
		return fmt.Errorf("keep what the store has: %w", err)
	}
	if size, outgrown := k.trim(now); outgrown {
		return fmt.Errorf("%w: %d MB", ErrOutgrown, size>>20)
	}
	return nil
}

func (k *kept) write(first uint64, batch []byte, now time.Time) error {
	if last := len(k.files) - 1; k.open != nil && k.files[last].size+int64(len(batch)) > k.o.Bytes/keptParts {
		k.open.Close()
		k.open = nil
	}
	if k.open == nil {
		if err := os.MkdirAll(k.dir, 0o700); err != nil {
			return err
		}
		// A message that comes again after a crash may be in a file already.
		f := keptFile{first: first, at: now}
		k.files = slices.DeleteFunc(k.files, func(old keptFile) bool { return old.first >= first && os.Remove(k.path(old)) == nil })
		file, err := os.OpenFile(k.path(f), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
		if err != nil {
			return err
		}
		k.open, k.files = file, append(k.files, f)
		batch = append(k.journal[:len(k.journal):len(k.journal)], batch...)
	}
	n, err := k.open.Write(batch)
	f := &k.files[len(k.files)-1]
	f.size, f.at = f.size+int64(n), now
	return err
}

// trim deletes the files that are too old or too many. It returns the size before, and whether it has
// deleted needed messages.
func (k *kept) trim(now time.Time) (all int64, outgrown bool) {
	for _, f := range k.files {
		all += f.size
	}
	n, size, need := 0, all, k.needed(now)
	for ; n < len(k.files)-1 && (size > k.o.Bytes || now.Sub(k.files[n].at) > k.o.Age); n++ {
		if k.files[n+1].first-1 > need {
			if size <= max(k.o.Bytes, k.o.Needed) {
				break
			}
			outgrown = true
		}
		size -= k.files[n].size
	}
	k.drop(n)
	return all, outgrown
}

// drop deletes the n oldest files.
func (k *kept) drop(n int) {
	for _, f := range k.files[:n] {
		os.Remove(k.path(f))
	}
	if n == len(k.files) && k.open != nil {
		k.open.Close()
		k.open = nil
	}
	k.files = k.files[n:]
}

// after yields the kept messages behind a number, in order. Frames share memory only with others of their
// batch. Behind an unreadable batch it skips the rest of the file.
func (k *kept) after(seq uint64) iter.Seq2[uint64, []byte] {
	return func(yield func(uint64, []byte) bool) {
		for i, f := range k.files {
			if i+1 < len(k.files) && k.files[i+1].first <= seq+1 {
				continue
			}
			for batch := range k.batches(f) {
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
func (k *kept) batches(f keptFile) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		file, err := os.Open(k.path(f))
		if err != nil {
			return
		}
		defer file.Close()
		r := bufio.NewReaderSize(file, 1<<20)
		if _, err := r.Discard(len(k.journal)); err != nil {
			return
		}
		for {
			var head [8]byte
			if _, err := io.ReadFull(r, head[:]); err != nil {
				return
			}
			size := int64(binary.LittleEndian.Uint32(head[:]))
			if size > f.size {
				return
			}
			batch := make([]byte, size)
			if _, err := io.ReadFull(r, batch); err != nil || crc32.Checksum(batch, castagnoli) != binary.LittleEndian.Uint32(head[4:]) {
				return
			}
			if !yield(batch) {
				return
			}
		}
	}
}

// close closes the open file.
func (k *kept) close() error {
	if k.open == nil {
		return nil
	}
	err := k.open.Close()
	k.open = nil
	if errors.Is(err, os.ErrClosed) {
		return nil
	}
	return err
}
