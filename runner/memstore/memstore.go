// Package memstore keeps a runner in memory, for tests of programs that use one: its content
// does not survive the process.
//
// A [Store] passes the suite of all storages ([wamble/runner/runnertest]), so it behaves like a
// storage on disk except for durability.
package memstore

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"

	"wamble/runner"
)

// Store is a runner.Storage in memory: its content survives Close and Open, but not the end
// of the process. Its zero value is empty and usable. Every view is a root of the same
// persistent tree, so snapshots cost nothing.
type Store struct {
	mu          sync.Mutex
	root        *node
	open        bool
	checkpoints map[string]*node
}

// New returns an empty storage.
func New() *Store { return new(Store) }

// Open implements runner.Storage.
func (s *Store) Open(func(error)) (runner.Backend, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open {
		return nil, runner.ErrLocked
	}
	s.open = true
	return &backend{s: s}, nil
}

// OpenReadOnly implements runner.Storage.
func (s *Store) OpenReadOnly(onFail func(error)) (runner.Backend, error) {
	if s.now() == nil {
		return nil, runner.ErrNoSchema
	}
	return s.Open(onFail)
}

// Restore implements runner.Storage.
func (s *Store) Restore(checkpoint string, prepare func(runner.Backend) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	root, ok := s.checkpoints[checkpoint]
	switch {
	case s.open:
		return runner.ErrLocked
	case !ok:
		return fmt.Errorf("checkpoint %s: %w", checkpoint, runner.ErrNotFound)
	}
	fresh := &Store{root: root}
	if err := prepare(&backend{s: fresh}); err != nil {
		return err
	}
	s.root = fresh.root
	return nil
}

func (s *Store) now() *node {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.root
}

type backend struct {
	s      *Store
	closed bool
}

func (b *backend) View() runner.View { return view{b.s.now()} }

func (b *backend) Get(dst, key []byte) ([]byte, bool, error) {
	return view{b.s.now()}.Get(dst, key)
}

func (b *backend) Scan(lo, hi []byte, visit func(k, v []byte) bool) error {
	return view{b.s.now()}.Scan(lo, hi, visit)
}

func (b *backend) Batch() runner.Batch { return &batch{b: b} }
func (b *backend) Flush() error        { return nil }

func (b *backend) Checkpoint(to string) error {
	b.s.mu.Lock()
	defer b.s.mu.Unlock()
	if _, ok := b.s.checkpoints[to]; ok {
		return fmt.Errorf("checkpoint %s: %w", to, runner.ErrExists)
	}
	if b.s.checkpoints == nil {
		b.s.checkpoints = map[string]*node{}
	}
	b.s.checkpoints[to] = b.s.root
	return nil
}

func (b *backend) Shrink() error { return nil }

func (b *backend) Free() (uint64, error) { return math.MaxUint64, nil }

func (b *backend) Close() error {
	b.s.mu.Lock()
	defer b.s.mu.Unlock()
	if b.closed {
		return errors.New("closed twice")
	}
	b.closed, b.s.open = true, false
	return nil
}

type view struct{ root *node }

func (v view) Get(dst, key []byte) ([]byte, bool, error) {
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

func (v view) Scan(lo, hi []byte, visit func(k, v []byte) bool) error {
	v.root.scan(lo, hi, visit)
	return nil
}

func (v view) Close() error { return nil }

type batch struct {
	b   *backend
	ops []op
	len int
}

type op struct {
	key, value []byte
	del        bool
}

func (b *batch) Set(key, value []byte) {
	b.ops = append(b.ops, op{key: bytes.Clone(key), value: bytes.Clone(value)})
	b.len += len(key) + len(value)
}

func (b *batch) Delete(key []byte) {
	b.ops = append(b.ops, op{key: bytes.Clone(key), del: true})
	b.len += len(key)
}

func (b *batch) Len() int { return b.len }

func (b *batch) Commit() error {
	s := b.b.s
	s.mu.Lock()
	var err error
	if b.b.closed {
		err = errors.New("the memory is closed")
	}
	if err == nil {
		for _, o := range b.ops {
			if s.root = s.root.remove(o.key); !o.del {
				s.root = s.root.insert(&node{key: o.key, value: o.value, rank: rand.Uint64()})
			}
		}
	}
	s.mu.Unlock()
	b.ops, b.len = nil, 0
	return err
}

// node is an immutable treap: an update copies the path to it.
type node struct {
	key, value  []byte
	rank        uint64
	left, right *node
}

// split returns the trees of the keys below key and of those from key on.
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

// join combines two trees; all keys of n must be below those of other.
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
