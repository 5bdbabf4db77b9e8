package runnertest

import (
	"math"
	"sync"

	"wamble/runner"
)

// Faulty is a storage that wraps another one and fails on request.
type Faulty struct {
	runner.Storage
	mu    sync.Mutex
	err   error
	after int
	free  uint64
	hang  *hang
}

// hang makes commits wait: held is closed by the first, and closing free releases them.
type hang struct {
	once       sync.Once
	held, free chan struct{}
}

// NewFaulty returns a storage that behaves like s until a fault is set.
func NewFaulty(s runner.Storage) *Faulty { return &Faulty{Storage: s, free: math.MaxUint64} }

// FailAfter lets n commits pass and makes the next one fail, and with it the open backend:
// nothing of that commit is stored.
func (f *Faulty) FailAfter(n int, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.after, f.err = n, err
}

// Hang makes commits wait, as on a disk that no longer answers, until release is called. Held
// is closed when a commit waits.
func (f *Faulty) Hang() (held <-chan struct{}, release func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	h := &hang{held: make(chan struct{}), free: make(chan struct{})}
	f.hang = h
	return h.held, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.hang = nil
		close(h.free)
	}
}

// wait blocks while the storage hangs.
func (f *Faulty) wait() {
	f.mu.Lock()
	h := f.hang
	f.mu.Unlock()
	if h != nil {
		h.once.Do(func() { close(h.held) })
		<-h.free
	}
}

// SetFree sets the free space that the storage reports, in bytes.
func (f *Faulty) SetFree(n uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.free = n
}

// Open implements runner.Storage.
func (f *Faulty) Open(onFail func(error)) (runner.Backend, error) {
	b, err := f.Storage.Open(onFail)
	if err != nil {
		return nil, err
	}
	return &faultyBackend{Backend: b, f: f, onFail: onFail}, nil
}

// next returns the error of the next commit.
func (f *Faulty) next() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err == nil {
		return nil
	}
	if f.after--; f.after >= 0 {
		return nil
	}
	err := f.err
	f.err = nil
	return err
}

type faultyBackend struct {
	runner.Backend
	f      *Faulty
	onFail func(error)
}

func (b *faultyBackend) Batch() runner.Batch { return &faultyBatch{Batch: b.Backend.Batch(), b: b} }

func (b *faultyBackend) Free() (uint64, error) {
	b.f.mu.Lock()
	defer b.f.mu.Unlock()
	return b.f.free, nil
}

type faultyBatch struct {
	runner.Batch
	b *faultyBackend
}

func (b *faultyBatch) Commit() error {
	b.b.f.wait()
	if err := b.b.f.next(); err != nil {
		b.b.onFail(err)
		return err
	}
	return b.Batch.Commit()
}
