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

// KeepOptions say how long messages are kept that the store has: for as long as a
// standby may be behind that takes the store's place. What a restart needs (see
// Drain.Need) is kept longer.
type KeepOptions struct {
	Dir    string // of all profiles; "" keeps nothing
	Age    time.Duration
	Bytes  int64 // of one profile
	Needed int64 // of one profile, with what a restart needs; less than Bytes means Bytes
}

// ErrOutgrown is told when messages were deleted that a restart needs, because there
// were too many.
var ErrOutgrown = errors.New("a restart needs more messages than may be kept")

// kept is what the drain of a profile has brought to the store lately: files beside
// the journal, which are written behind it without fsync and deleted one by one from
// the oldest. A file begins with the journal's id, and is named after the first
// message in it. Then come batches:
//
//	4 bytes  length of what follows the checksum, little endian
//	4 bytes  checksum, CRC-32C
//	…        messages: number and length (varints), frame
type kept struct {
	o       KeepOptions
	dir     string
	journal store.JournalID
	files   []keptFile // oldest first
	open    *os.File   // the newest; nil: none is written
	buf     []byte
	need    atomic.Uint64 // the messages behind it are needed
	held    hold
}

// hold keeps the messages behind a number until a time, for a backup.
type hold struct {
	after atomic.Uint64
	until atomic.Int64 // ns since 1970
}

// needed is the message behind which all are needed at a time; the highest number: none
// is.
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

// keptParts is into how many files the bound is cut: so much of it is deleted at
// once.
const keptParts = 16

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// openKept finds what earlier processes have kept of a worker's messages. Files of
// another journal are deleted.
func openKept(o KeepOptions, journal store.JournalID, worker uint32) *kept {
	k := findKept(o, journal, worker, func(path string) { os.Remove(path) })
	k.need.Store(math.MaxUint64)
	return k
}

// findKept finds what is kept of a worker's messages, and tells of files of another
// journal.
func findKept(o KeepOptions, journal store.JournalID, worker uint32, strange func(path string)) *kept {
	k := &kept{o: o, journal: journal, dir: filepath.Join(o.Dir, strconv.FormatUint(uint64(worker), 10))}
	entries, _ := os.ReadDir(k.dir) // none yet, or none that can be read
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

// add keeps the messages of a batch. If it cannot, nothing is kept any more: there
// may be no room on the disk, and the journal needs that more.
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
		// A message that comes again after a crash may have had a file already.
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

// trim deletes the files that are too old, or too many. It returns how many bytes there
// were, and whether some of them were needed.
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

// drop deletes the oldest files.
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

// after yields the kept messages behind a number, in order; a batch's frames are its
// own. It ends at what cannot be read.
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

// batches yields those of a file that are whole.
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

// close ends the writing.
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
