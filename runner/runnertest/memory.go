package runnertest

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"

	"wamble/runner"
)

// Memory is a runner.Storage without a disk: what is committed stays in it
// over Close and Open, for as long as the process lives. Every view is a root
// of the same persistent tree, so snapshots cost nothing.
type Memory struct {
	mu          sync.Mutex
	root        *node
	open        bool
	checkpoints map[string]*node
}

// NewMemory returns an empty storage.
func NewMemory() *Memory {
	return &Memory{checkpoints: map[string]*node{}}
}

// Open implements runner.Storage.
func (m *Memory) Open(func(error)) (runner.Backend, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.open {
		return nil, runner.ErrLocked
	}
	m.open = true
	return &memoryBackend{m: m}, nil
}

// OpenReadOnly implements runner.Storage.
func (m *Memory) OpenReadOnly(onFail func(error)) (runner.Backend, error) {
	if m.now() == nil {
		return nil, runner.ErrNoSchema
	}
	return m.Open(onFail)
}

// Restore implements runner.Storage.
func (m *Memory) Restore(checkpoint string, prepare func(runner.Backend) error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	root, ok := m.checkpoints[checkpoint]
	switch {
	case m.open:
		return runner.ErrLocked
	case !ok:
		return fmt.Errorf("checkpoint %s: %w", checkpoint, runner.ErrNotFound)
	}
	fresh := &Memory{root: root}
	if err := prepare(&memoryBackend{m: fresh}); err != nil {
		return err
	}
	m.root = fresh.root
	return nil
}

func (m *Memory) now() *node {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.root
}

type memoryBackend struct {
	m      *Memory
	closed bool
}

func (b *memoryBackend) View() runner.View { return memoryView{b.m.now()} }

func (b *memoryBackend) Get(dst, key []byte) ([]byte, bool, error) {
	return memoryView{b.m.now()}.Get(dst, key)
}

func (b *memoryBackend) Scan(lo, hi []byte, visit func(k, v []byte) bool) error {
	return memoryView{b.m.now()}.Scan(lo, hi, visit)
}

func (b *memoryBackend) Batch() runner.Batch { return &memoryBatch{b: b} }
func (b *memoryBackend) Flush() error        { return nil }

func (b *memoryBackend) Checkpoint(to string) error {
	b.m.mu.Lock()
	defer b.m.mu.Unlock()
	if _, ok := b.m.checkpoints[to]; ok {
		return fmt.Errorf("checkpoint %s: %w", to, runner.ErrExists)
	}
	b.m.checkpoints[to] = b.m.root
	return nil
}

func (b *memoryBackend) Shrink() error { return nil }

func (b *memoryBackend) Free() (uint64, error) { return math.MaxUint64, nil }

func (b *memoryBackend) Close() error {
	b.m.mu.Lock()
	defer b.m.mu.Unlock()
	if b.closed {
		return errors.New("closed twice")
	}
	b.closed, b.m.open = true, false
	return nil
}

type memoryView struct{ root *node }

func (v memoryView) Get(dst, key []byte) ([]byte, bool, error) {
	for n := v.root; n != nil; {
		switch c := bytes.Compare(key, n.key); {
		case c == 0:
			return append(dst, n.value...), true, nil
		case c < 0:
			n = n.left
		default:
			n = n.right
		}
	}
	return dst, false, nil
}

func (v memoryView) Scan(lo, hi []byte, visit func(k, v []byte) bool) error {
	v.root.scan(lo, hi, visit)
	return nil
}

func (v memoryView) Close() error { return nil }

type memoryBatch struct {
	b   *memoryBackend
	ops []memoryOp
	len int
}

type memoryOp struct {
	key, value []byte
	del        bool
}

func (b *memoryBatch) Set(key, value []byte) {
	b.ops = append(b.ops, memoryOp{key: bytes.Clone(key), value: bytes.Clone(value)})
	b.len += len(key) + len(value)
}

func (b *memoryBatch) Delete(key []byte) {
	b.ops = append(b.ops, memoryOp{key: bytes.Clone(key), del: true})
	b.len += len(key)
}

func (b *memoryBatch) Len() int { return b.len }

func (b *memoryBatch) Commit() error {
	m := b.b.m
	m.mu.Lock()
	var err error
	if b.b.closed {
		err = errors.New("the memory is closed")
	}
	if err == nil {
		for _, o := range b.ops {
			if m.root = m.root.remove(o.key); !o.del {
				m.root = m.root.insert(&node{key: o.key, value: o.value, rank: rand.Uint64()})
			}
		}
	}
	m.mu.Unlock()
	b.ops, b.len = nil, 0
	return err
}

// node is a treap that is never changed: an update copies the path to it.
type node struct {
	key, value  []byte
	rank        uint64
	left, right *node
}

// split returns the keys below key and those from key on.
func (n *node) split(key []byte) (below, above *node) {
	if n == nil {
		return nil, nil
	}
	c := *n
	if bytes.Compare(n.key, key) < 0 {
		c.right, above = n.right.split(key)
		return &c, above
	}
	below, c.left = n.left.split(key)
	return below, &c
}

// join puts two trees together; all keys of n are below those of other.
func (n *node) join(other *node) *node {
	switch {
	case n == nil:
		return other
	case other == nil:
		return n
	case n.rank > other.rank:
		c := *n
		c.right = n.right.join(other)
		return &c
	}
	c := *other
	c.left = n.join(other.left)
	return &c
}

func (n *node) insert(x *node) *node {
	below, above := n.split(x.key)
	return below.join(x).join(above)
}

func (n *node) remove(key []byte) *node {
	below, rest := n.split(key)
	_, above := rest.split(append(bytes.Clone(key), 0))
	return below.join(above)
}

func (n *node) scan(lo, hi []byte, visit func(k, v []byte) bool) bool {
	if n == nil {
		return true
	}
	if bytes.Compare(n.key, lo) >= 0 {
		if !n.left.scan(lo, hi, visit) {
			return false
		}
		if bytes.Compare(n.key, hi) < 0 && !visit(n.key, n.value) {
			return false
		}
	}
	if bytes.Compare(n.key, hi) < 0 {
		return n.right.scan(lo, hi, visit)
	}
	return true
}
