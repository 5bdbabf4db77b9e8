package pebblestore

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"wamble/runner"
)

const (
	// crossAfter is how long Pebble waits before it opens for writing, so that the first
	// answers are sent before.
	crossAfter = 100 * time.Millisecond
	// smallRest is the most bytes that the last round may copy while commits wait; after
	// crossings rounds it may be more.
	smallRest = 64 << 10
	crossings = 8
	// largeView is the size in bytes of the bridge from which a snapshot waits for Pebble
	// instead of copying the bridge.
	largeView = 256 << 10
)

// bridged is a storage that commits to a bridge until Pebble is open for writing, or a
// read-only storage whose bridge is not empty.
type bridged struct {
	s    *Storage
	ro   *backend
	rw   atomic.Pointer[backend]
	id   bridgeID
	file vfs.File // nil if the storage is read-only
	hold chan struct{}

	commits sync.Mutex // held during a commit; guards end and rest
	end     int
	rest    [][]byte // batches that rw does not have

	mu      sync.RWMutex  // guards overlay
	overlay *pebble.Batch // commits since ro was opened
	views   sync.WaitGroup

	stop   chan struct{} // closed by Close
	done   chan struct{} // closed when rw is set, or never will be
	once   sync.Once
	failed atomic.Bool
	onFail func(error)
}

// openBridged opens the storage with an unused bridge. It returns nil if there is none.
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

// rest waits for crossAfter or stop.
func rest(stop <-chan struct{}) {
	select {
	case <-time.After(crossAfter):
	case <-stop:
	}
}

// fail reports the first failure, of the bridge or of a Pebble.
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
			if err = b.s.openMark(rw); err == nil {
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
	_ = errors.Join(overlay.Close(), b.file.Close(), b.ro.Close()) // ignored: they are not used any more
}

// hand writes the commits into Pebble, in rounds while commits continue, and the last round
// while they wait.
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

// append commits a batch to the bridge. It returns false if Pebble has taken over.
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
	// The first commit of a runner only records its start. It becomes durable with the next
	// one.
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

// after returns the reader when there is no overlay any more.
func (b *bridged) after() runner.Reader {
	if rw := b.rw.Load(); rw != nil {
		return rw
	}
	return &bridgeView{err: runner.ErrFailed}
}

// bridgeView is a snapshot of a bridge and of the Pebble below it.
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

// bridgeBatch is a batch that is committed to the bridge, and to Pebble once that has taken
// over.
type bridgeBatch struct {
	b     *bridged
	own   *pebble.Batch
	moved runner.Batch // nil until Pebble has taken over
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
		return b.ro.Checkpoint(to) // includes the bridge
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

// Hurry implements runner.Patient.
func (b *bridged) Hurry() {
	if rw := b.rw.Load(); rw != nil {
		rw.Hurry()
	}
}

// Close first lets Pebble take over, if it can. There must be no readers.
func (b *bridged) Close() error {
	close(b.stop)
	<-b.done
	if rw := b.rw.Load(); rw != nil {
		return rw.Close()
	}
	b.failed.Store(true) // no commit follows the current one
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
