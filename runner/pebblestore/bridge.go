package pebblestore

import (
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"wamble/runner"
)

// A bridge carries commits while Pebble opens for writing, for which it syncs files
// and names five times in a row: whoever takes over from a process that was not to be
// missed cannot wait for that. The process before it makes the file while it still
// serves (PrepareBridge). Who opens with Options.Bridge reads by a Pebble that is open
// read-only, which takes a few milliseconds and syncs nothing; commits are appended to
// the file, and kept in memory over what that Pebble reads. Beside them Pebble opens
// for writing, gets what was committed so far, and takes over.
//
// What a process leaves in the file when it dies, the next Open brings to Pebble: each
// record once, because Pebble is told with it how far it has the file.
//
// The file is, in little endian:
//
//	magic "wamble bridge 1\n", id 16
//	records: length 4, CRC-32C 4 of id, place of the record in the file 8 and batch; the batch
//
// Its end is where no whole record is: it was made of zeros, so that a sync has
// nothing to do but to write.
const (
	bridgeFile  = "bridge"
	bridgeMagic = "wamble bridge 1\n"
	bridgeHead  = len(bridgeMagic) + 16
	bridgeRoom  = 2 << 20 // bytes that the file has from the beginning
	recordHead  = 8
	// crossAfter is how long Pebble waits before it opens for writing: the first
	// answers come before.
	crossAfter = 100 * time.Millisecond
	// smallRest is what commits may wait for at the end, in bytes. More than crossings
	// rounds are not tried.
	smallRest = 64 << 10
	crossings = 8
	// largeView is from how many bytes on a snapshot waits for Pebble, rather than to
	// copy what the bridge has.
	largeView = 256 << 10
)

// bridgeKey is where Pebble keeps the id of the last bridge and how far it has it. No
// table of the runner begins so.
var bridgeKey = []byte("\xff\xffbridge")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

type bridgeID [16]byte

// PrepareBridge makes the bridge for the process that follows at once. The storage is
// open, and nothing happens to it.
func (s *Storage) PrepareBridge() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.bridging {
		return errors.New("the last bridge is still in use")
	}
	text := append(make([]byte, 0, s.bridgeRoom), bridgeMagic...)
	text = text[:s.bridgeRoom]
	if _, err := rand.Read(text[len(bridgeMagic):bridgeHead]); err != nil {
		return err
	}
	file, err := s.fs.Create(s.bridgePath(), vfs.WriteCategoryUnspecified)
	if err != nil {
		return fmt.Errorf("make a bridge: %w", err)
	}
	for at := 0; at < len(text) && err == nil; at += aheadPage { // in pages: see logFile
		_, err = file.Write(text[at : at+aheadPage])
	}
	if err = errors.Join(err, file.Sync(), file.Close(), syncDir(s.fs, s.dir)); err != nil {
		return errors.Join(fmt.Errorf("make a bridge: %w", err), s.fs.Remove(s.bridgePath()))
	}
	return nil
}

func (s *Storage) bridgePath() string { return s.fs.PathJoin(s.dir, bridgeFile) }

// readBridge returns the id and the batches of the bridge after the place from, which
// is told its id, and where they end. Without a bridge that was made whole end is 0.
func (s *Storage) readBridge(from func(bridgeID) int) (id bridgeID, batches [][]byte, end int, err error) {
	file, err := s.fs.Open(s.bridgePath())
	if errors.Is(err, fs.ErrNotExist) {
		return id, nil, 0, nil
	}
	if err != nil {
		return id, nil, 0, err
	}
	text, err := io.ReadAll(file)
	if err = errors.Join(err, file.Close()); err != nil {
		return id, nil, 0, fmt.Errorf("read the bridge: %w", err)
	}
	if len(text) < bridgeHead || !bytes.HasPrefix(text, []byte(bridgeMagic)) {
		return id, nil, 0, nil
	}
	copy(id[:], text[len(bridgeMagic):])
	end = from(id)
	for {
		batch := recordAt(text, id, end)
		if batch == nil {
			return id, batches, end, nil
		}
		batches = append(batches, batch)
		end += recordHead + len(batch)
	}
}

// unusedBridge returns the id of the bridge, if it was made whole and has no record.
func (s *Storage) unusedBridge() (id bridgeID, unused bool, err error) {
	file, err := s.fs.Open(s.bridgePath())
	if errors.Is(err, fs.ErrNotExist) {
		return id, false, nil
	}
	if err != nil {
		return id, false, err
	}
	head := make([]byte, bridgeHead+recordHead)
	_, err = io.ReadFull(file, head)
	if err = errors.Join(err, file.Close()); err != nil || !bytes.HasPrefix(head, []byte(bridgeMagic)) {
		return id, false, nil // Open finds out what it is
	}
	copy(id[:], head[len(bridgeMagic):])
	return id, binary.LittleEndian.Uint32(head[bridgeHead:]) == 0, nil
}

// recordAt returns the batch of the record at a place, nil if there is no whole one.
func recordAt(text []byte, id bridgeID, at int) []byte {
	if at < bridgeHead || at > len(text)-recordHead {
		return nil
	}
	head, rest := text[at:at+recordHead], text[at+recordHead:]
	size := binary.LittleEndian.Uint32(head)
	if size == 0 || uint64(size) > uint64(len(rest)) || sumOf(id, at, rest[:size]) != binary.LittleEndian.Uint32(head[4:]) {
		return nil
	}
	return rest[:size]
}

func sumOf(id bridgeID, at int, batch []byte) uint32 {
	var place [8]byte
	binary.LittleEndian.PutUint64(place[:], uint64(at))
	return crc32.Update(crc32.Update(crc32.Checksum(id[:], castagnoli), castagnoli, place[:]), castagnoli, batch)
}

// bridgeFrom returns from where on a Pebble lacks a bridge.
func (b *backend) bridgeFrom(id bridgeID) int {
	value, ok, err := b.Get(nil, bridgeKey)
	if err == nil && ok && len(value) == len(id)+8 && bridgeID(value) == id {
		return int(binary.LittleEndian.Uint64(value[len(id):]))
	}
	return bridgeHead
}

// absorb commits batches of a bridge, which end at a place of it, at once.
func (b *backend) absorb(batches [][]byte, id bridgeID, end int) error {
	if len(batches) == 0 {
		return nil
	}
	return b.await(func() error { // a Pebble that fails may never answer
		all := b.db.NewBatch()
		defer func() { _ = all.Close() }()
		if err := join(all, batches); err != nil {
			return err
		}
		if err := all.Set(bridgeKey, binary.LittleEndian.AppendUint64(id[:], uint64(end)), nil); err != nil {
			return err
		}
		return all.Commit(pebble.Sync)
	})
}

// join adds batches to another.
func join(to *pebble.Batch, batches [][]byte) error {
	for _, text := range batches {
		var one pebble.Batch
		if err := one.SetRepr(text); err != nil {
			return err
		}
		if err := to.Apply(&one, nil); err != nil {
			return err
		}
	}
	return nil
}

// endBridge brings what a dead process left in its bridge to Pebble.
func (s *Storage) endBridge(b *backend) error {
	id, batches, end, err := s.readBridge(b.bridgeFrom)
	if err == nil {
		err = b.absorb(batches, id, end)
	}
	if err != nil {
		return fmt.Errorf("bring the bridge to %s: %w", s.dir, err)
	}
	s.removeBridge(b.fence)
	return nil
}

// removeBridge removes the file. Pebble has it: if the file comes back, it does no harm.
func (s *Storage) removeBridge(f *fencedFS) {
	if _, err := s.fs.Stat(s.bridgePath()); err == nil {
		_ = f.lenient(func() error { return s.fs.Remove(s.bridgePath()) })
	}
}

// bridged is a storage that commits to a bridge until Pebble is open for writing. It
// is also a storage that is only read while there is something in its bridge.
type bridged struct {
	s    *Storage
	ro   *backend
	rw   atomic.Pointer[backend]
	id   bridgeID
	file vfs.File // nil: it is only read
	hold chan struct{}

	commits sync.Mutex // held during a commit; guards what follows
	end     int
	rest    [][]byte // batches that rw does not have

	mu      sync.RWMutex  // guards overlay
	overlay *pebble.Batch // what is committed since ro was opened
	views   sync.WaitGroup

	stop   chan struct{} // closed by Close
	done   chan struct{} // closed when rw is there, or will never be
	once   sync.Once
	failed atomic.Bool
	onFail func(error)
}

// openBridged opens the storage over a bridge that nobody has used. It returns nil if
// there is none.
func (s *Storage) openBridged(onFail func(error)) (runner.Backend, error) {
	id, unused, err := s.unusedBridge()
	if err != nil || !unused {
		return nil, err
	}
	lock, err := s.lock()
	if err != nil {
		return nil, err
	}
	b := &bridged{s: s, id: id, end: bridgeHead, onFail: onFail, hold: make(chan struct{}), stop: make(chan struct{}), done: make(chan struct{})}
	if b.ro, err = s.open(b.fail, true, io.NopCloser(nil), nil); err == nil {
		b.overlay = b.ro.db.NewIndexedBatch()
		b.file, err = s.fs.OpenReadWrite(s.bridgePath(), vfs.WriteCategoryUnspecified)
	}
	if err != nil {
		if b.ro != nil {
			err = errors.Join(err, b.overlay.Close(), b.ro.Close())
		}
		return nil, errors.Join(err, lock.Close())
	}
	s.setBridging(true)
	go b.cross(lock)
	return b, nil
}

func (s *Storage) setBridging(on bool) {
	s.mu.Lock()
	s.bridging = on
	s.mu.Unlock()
}

// rest lets the first answers go before.
func rest(stop <-chan struct{}) {
	select {
	case <-time.After(crossAfter):
	case <-stop:
	}
}

// fail tells the first failure, of the bridge or of a Pebble behind it.
func (b *bridged) fail(err error) {
	b.once.Do(func() {
		b.failed.Store(true)
		b.onFail(err)
	})
}

// cross opens Pebble for writing and lets it take over.
func (b *bridged) cross(lock io.Closer) {
	defer close(b.done)
	defer b.s.setBridging(false)
	calm := sync.OnceFunc(func() { close(b.hold) })
	defer calm()
	b.s.beforeCross(b.stop)
	err := guard(func() error {
		rw, err := b.s.open(b.fail, false, lock, b.hold)
		if err != nil {
			return err
		}
		if err = rw.fence.opened(); err == nil {
			if _, err = b.s.openMark(rw); err == nil {
				err = b.hand(rw)
			}
		}
		if err != nil {
			calm() // Close waits for compactions
			return errors.Join(err, rw.Close())
		}
		return nil
	})
	if err != nil {
		b.fail(fmt.Errorf("open %s for writing: %w", b.s.dir, err))
		return
	}
	b.mu.Lock()
	overlay := b.overlay
	b.overlay = nil
	b.mu.Unlock()
	b.s.removeBridge(b.rw.Load().fence)
	b.views.Wait()
	_ = errors.Join(overlay.Close(), b.file.Close(), b.ro.Close()) // nothing of it counts any more
}

// hand gives Pebble what was committed, in rounds while commits go on, and the last
// time while they wait.
func (b *bridged) hand(rw *backend) error {
	for round := 1; ; round++ {
		b.commits.Lock()
		if b.failed.Load() {
			b.commits.Unlock()
			return runner.ErrFailed
		}
		part, end, size := b.rest, b.end, 0
		b.rest = nil
		for _, batch := range part {
			size += len(batch)
		}
		if size > smallRest && round < crossings {
			b.commits.Unlock()
			if err := rw.absorb(part, b.id, end); err != nil {
				return err
			}
			continue
		}
		err := rw.absorb(part, b.id, end)
		if err == nil {
			b.rw.Store(rw)
		}
		b.commits.Unlock()
		return err
	}
}

// append commits a batch to the bridge. It reports false when Pebble has taken over.
func (b *bridged) append(batch *pebble.Batch) (bool, error) {
	b.commits.Lock()
	defer b.commits.Unlock()
	switch {
	case b.rw.Load() != nil:
		return false, nil
	case b.failed.Load():
		return true, runner.ErrFailed
	}
	text := bytes.Clone(batch.Repr())
	record := binary.LittleEndian.AppendUint32(make([]byte, 0, recordHead+len(text)), uint32(len(text)))
	record = binary.LittleEndian.AppendUint32(record, sumOf(b.id, b.end, text))
	record = append(record, text...)
	_, err := b.file.WriteAt(record, int64(b.end))
	// The first commit of a runner says that it has begun. That becomes durable with
	// what it does next.
	if err == nil && b.s.durability == Fsync && b.end > bridgeHead {
		err = b.file.SyncData()
	}
	if err == nil {
		b.mu.Lock()
		err = b.overlay.Apply(batch, nil)
		b.mu.Unlock()
	}
	if err != nil {
		b.fail(b.ro.fence.explain(err))
		return true, err
	}
	b.end += len(record)
	b.rest = append(b.rest, text)
	return true, nil
}

// wait waits until Pebble has taken over.
func (b *bridged) wait() (*backend, error) {
	<-b.done
	if rw := b.rw.Load(); rw != nil {
		return rw, nil
	}
	return nil, runner.ErrFailed
}

func (b *bridged) Get(dst, key []byte) ([]byte, bool, error) {
	if rw := b.rw.Load(); rw != nil {
		return rw.Get(dst, key)
	}
	b.mu.RLock()
	defer b.mu.RUnlock()
	if b.overlay == nil {
		return b.after().Get(dst, key)
	}
	return get(b.overlay, dst, key)
}

func (b *bridged) Scan(lo, hi []byte, visit func(k, v []byte) bool) error {
	if rw := b.rw.Load(); rw != nil {
		return rw.Scan(lo, hi, visit)
	}
	b.mu.RLock()
	defer b.mu.RUnlock()
	if b.overlay == nil {
		return b.after().Scan(lo, hi, visit)
	}
	return scan(b.overlay, lo, hi, visit)
}

func (b *bridged) View() runner.View {
	b.mu.RLock()
	large := b.overlay != nil && b.overlay.Len() > largeView && b.file != nil
	b.mu.RUnlock()
	if large {
		<-b.done
	}
	if rw := b.rw.Load(); rw != nil {
		return rw.View()
	}
	b.mu.RLock()
	defer b.mu.RUnlock()
	if rw := b.rw.Load(); rw != nil {
		return rw.View()
	}
	if b.overlay == nil {
		return &bridgeView{err: runner.ErrFailed}
	}
	b.views.Add(1)
	copied := b.ro.db.NewIndexedBatch()
	err := copied.Apply(b.overlay, nil)
	return &bridgeView{copied, b, err}
}

// after reads when there is no overlay any more.
func (b *bridged) after() runner.Reader {
	if rw := b.rw.Load(); rw != nil {
		return rw
	}
	return &bridgeView{err: runner.ErrFailed}
}

// bridgeView is a snapshot of a bridge and the Pebble below it.
type bridgeView struct {
	batch *pebble.Batch
	b     *bridged
	err   error
}

func (v *bridgeView) Get(dst, key []byte) ([]byte, bool, error) {
	if v.err != nil {
		return dst, false, v.err
	}
	return get(v.batch, dst, key)
}

func (v *bridgeView) Scan(lo, hi []byte, visit func(k, v []byte) bool) error {
	if v.err != nil {
		return v.err
	}
	return scan(v.batch, lo, hi, visit)
}

func (v *bridgeView) Close() error {
	if v.batch == nil {
		return nil
	}
	defer v.b.views.Done()
	return v.batch.Close()
}

func (b *bridged) Batch() runner.Batch {
	if rw := b.rw.Load(); rw != nil {
		return rw.Batch()
	}
	return &bridgeBatch{b: b, own: b.ro.db.NewBatch()}
}

// bridgeBatch is a batch that goes into the bridge, and from then on, when Pebble has
// taken over, into Pebble.
type bridgeBatch struct {
	b     *bridged
	own   *pebble.Batch
	moved runner.Batch // nil while there is a bridge
}

func (c *bridgeBatch) Set(key, value []byte) {
	if c.moved != nil {
		c.moved.Set(key, value)
		return
	}
	_ = c.own.Set(key, value, nil)
}

func (c *bridgeBatch) Delete(key []byte) {
	if c.moved != nil {
		c.moved.Delete(key)
		return
	}
	_ = c.own.Delete(key, nil)
}

func (c *bridgeBatch) Len() int {
	if c.moved != nil {
		return c.moved.Len()
	}
	if c.own.Empty() {
		return 0
	}
	return c.own.Len()
}

func (c *bridgeBatch) Commit() error {
	if c.moved != nil {
		return c.moved.Commit()
	}
	if c.own.Empty() {
		return nil
	}
	mine, err := c.b.append(c.own)
	if mine {
		c.own.Reset()
		return err
	}
	to := c.b.rw.Load().Batch().(*batch)
	if err := to.batch.Apply(c.own, nil); err != nil {
		return err
	}
	c.own, c.moved = nil, to
	return to.Commit()
}

func (b *bridged) Flush() error {
	rw, err := b.wait()
	if err != nil {
		return err
	}
	return rw.Flush()
}

func (b *bridged) Checkpoint(to string) error {
	if b.file == nil {
		return b.ro.Checkpoint(to) // with the bridge
	}
	rw, err := b.wait()
	if err != nil {
		return err
	}
	return rw.Checkpoint(to)
}

func (b *bridged) Free() (uint64, error) {
	if rw := b.rw.Load(); rw != nil {
		return rw.Free()
	}
	return b.ro.Free()
}

func (b *bridged) Memory() uint64 {
	if rw := b.rw.Load(); rw != nil {
		return rw.Memory()
	}
	return b.ro.Memory()
}

func (b *bridged) Shrink() error {
	if rw := b.rw.Load(); rw != nil {
		return rw.Shrink()
	}
	return nil
}

// Close lets Pebble take over first, if it can. Nobody reads any more.
func (b *bridged) Close() error {
	close(b.stop)
	<-b.done
	if rw := b.rw.Load(); rw != nil {
		return rw.Close()
	}
	b.failed.Store(true) // no commit comes after the one that is under way
	b.commits.Lock()
	defer b.commits.Unlock()
	b.views.Wait()
	b.mu.Lock()
	defer b.mu.Unlock()
	err := errors.Join(b.overlay.Close(), b.ro.Close())
	b.overlay = nil
	if b.file != nil {
		err = errors.Join(err, b.file.Close())
	}
	return err
}
