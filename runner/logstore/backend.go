package logstore

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"wamble/runner"
)

// backend is an open Storage. Without held it is read-only, or a scratch copy.
type backend struct {
	s       *Storage
	held    Held
	scratch bool
	give    func()
	onFail  func(error)
	ctx     context.Context // context of all work on the log; ends with the backend
	stop    context.CancelFunc

	mu      sync.RWMutex // guards rows to tidying; not held during I/O
	rows    rows
	seq     uint64 // number of the last record in rows
	since   int    // bytes of records since the last checkpoint
	failed  error
	closed  bool
	tidying bool // an automatic checkpoint is in progress

	saving  sync.Mutex     // held during a checkpoint
	helpers sync.WaitGroup // automatic checkpoints
}

func (s *Storage) newBackend(give func(), onFail func(error)) *backend {
	b := &backend{s: s, give: give, onFail: onFail, rows: newRows()}
	b.ctx, b.stop = context.WithCancel(context.Background())
	return b
}

// fail marks the backend as failed: nothing is acknowledged any more.
func (b *backend) fail(err error) {
	b.mu.Lock()
	first := b.failed == nil && !b.closed
	if first {
		b.failed = err
	}
	b.mu.Unlock()
	if first {
		b.stop()
		b.onFail(err)
	}
}

// usable returns why nothing can be written, or nil.
func (b *backend) usable() error {
	b.mu.RLock()
	defer b.mu.RUnlock()
	switch {
	case b.failed != nil:
		return fmt.Errorf("%w: %w", runner.ErrFailed, b.failed)
	case b.closed:
		return runner.ErrStopped
	case b.held == nil && !b.scratch:
		return runner.ErrReadOnly
	}
	return nil
}

// View implements runner.Backend.
func (b *backend) View() runner.View { return b.snapshot() }

func (b *backend) snapshot() rows {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.rows.copy()
}

// Get implements runner.Reader.
func (b *backend) Get(dst, key []byte) ([]byte, bool, error) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.rows.Get(dst, key)
}

// Scan implements runner.Reader. visit may read and write the backend.
func (b *backend) Scan(lo, hi []byte, visit func(key, value []byte) bool) error {
	return b.snapshot().Scan(lo, hi, visit)
}

// Free implements runner.Backend.
func (b *backend) Free() (uint64, error) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return uint64(max(b.s.o.MaxBytes-b.rows.bytes, 0)), nil
}

// Shrink implements runner.Backend. It does nothing: checkpoints shrink the log.
func (b *backend) Shrink() error { return nil }

// Close implements runner.Backend. After a failure the claim is not released: the next claim
// ends it.
func (b *backend) Close() error {
	b.mu.Lock()
	if b.closed {
		b.mu.Unlock()
		return errors.New("closed twice")
	}
	b.closed = true
	failed := b.failed != nil
	b.mu.Unlock()
	b.stop()
	b.helpers.Wait()
	b.saving.Lock() // waits for a Flush
	defer b.saving.Unlock()
	var err error
	if b.held != nil {
		ctx, cancel := context.WithTimeout(context.Background(), b.s.o.Patience)
		defer cancel()
		if failed {
			cancel() // Release then only frees its resources
		}
		if err = b.held.Release(ctx, b.s.successorNow()); failed {
			err = nil
		}
	}
	b.give()
	return err
}

// Batch implements runner.Backend.
func (b *backend) Batch() runner.Batch { return &batch{b: b, record: appendHead(nil)} }

type batch struct {
	b      *backend
	record []byte
}

func (t *batch) Set(key, value []byte) { t.record = appendSet(t.record, key, value) }
func (t *batch) Delete(key []byte)     { t.record = appendDelete(t.record, key) }
func (t *batch) Len() int              { return len(t.record) - headLen }

// maxKept is the capacity in bytes of the largest buffer that a batch keeps for its next
// commit.
const maxKept = 1 << 20

// Commit implements runner.Batch.
func (t *batch) Commit() error {
	b := t.b
	if err := b.usable(); err != nil {
		return err
	}
	if t.Len() == 0 {
		return nil
	}
	record := seal(t.record, b.s.Now())
	var seq uint64
	if b.held != nil {
		var err error
		if seq, err = b.held.Append(b.ctx, record); err != nil {
			err = fmt.Errorf("append to %s: %w", b.s, err)
			b.fail(err)
			return err
		}
	}
	if err := b.take(seq, record); err != nil {
		return err
	}
	if t.record = appendHead(record[:0]); cap(record) > maxKept {
		t.record = appendHead(nil)
	}
	return nil
}

// take applies a durable record. If the backend has failed in between, the record is not
// acknowledged.
func (b *backend) take(seq uint64, record []byte) error {
	b.mu.Lock()
	if b.failed != nil {
		defer b.mu.Unlock()
		return fmt.Errorf("%w: %w", runner.ErrFailed, b.failed)
	}
	_, err := b.rows.apply(record)
	b.seq = seq
	b.since += len(record)
	tidies := b.held != nil && !b.tidying && !b.closed && b.since >= max(b.s.o.CheckpointAfter, b.rows.bytes)
	if tidies {
		b.tidying = true
		b.helpers.Add(1)
	}
	b.mu.Unlock()
	if err != nil { // the record was made here: a bug of this program
		b.fail(err)
		return err
	}
	if tidies {
		go b.tidy()
	}
	return nil
}
