// Package logtest has logs for tests with package logstore, and the suite for a log.
//
//   - [Memory] is a log in memory.
//   - [Faulty] is a log with delays and failures, with or without an effect.
//   - [Run] checks the guarantees of a [logstore.Log].
package logtest

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"sync"

	"wamble/runner/logstore"
)

// Memory is a log in memory. Its zero value is empty and usable. It refuses no claim.
type Memory struct {
	mu     sync.Mutex
	shards map[string]*shard
}

type shard struct {
	epoch, seq, through uint64
	state               [][]byte
	tail                [][]byte // records after through
}

func (m *Memory) shard(name string) *shard {
	s := m.shards[name]
	if s == nil {
		s = new(shard)
		if m.shards == nil {
			m.shards = map[string]*shard{}
		}
		m.shards[name] = s
	}
	return s
}

// Tail returns how many records a claim would replay after the checkpoint.
func (m *Memory) Tail(name string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.shard(name).tail)
}

// Claim implements logstore.Log.
func (m *Memory) Claim(ctx context.Context, name string, _ logstore.Holder) (logstore.Held, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.shard(name)
	s.epoch++
	return &held{m: m, s: s, epoch: s.epoch}, nil
}

// Look implements logstore.Log.
func (m *Memory) Look(_ context.Context, name string, visit func(uint64, []byte) error) error {
	m.mu.Lock()
	s := *m.shard(name)
	m.mu.Unlock()
	return s.replay(visit)
}

func (s *shard) replay(visit func(uint64, []byte) error) error {
	for _, record := range s.state {
		if err := visit(s.through, record); err != nil {
			return err
		}
	}
	for i, record := range s.tail {
		if err := visit(s.through+1+uint64(i), record); err != nil {
			return err
		}
	}
	return nil
}

type held struct {
	m     *Memory
	s     *shard
	epoch uint64
}

func (h *held) Seq() uint64 {
	h.m.mu.Lock()
	defer h.m.mu.Unlock()
	return h.s.seq
}

func (h *held) Replay(_ context.Context, visit func(uint64, []byte) error) error {
	h.m.mu.Lock()
	s := *h.s
	h.m.mu.Unlock()
	return s.replay(visit)
}

func (h *held) Append(ctx context.Context, record []byte) (uint64, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	h.m.mu.Lock()
	defer h.m.mu.Unlock()
	if h.s.epoch != h.epoch {
		return 0, logstore.ErrFenced
	}
	h.s.seq++
	h.s.tail = append(h.s.tail, bytes.Clone(record))
	return h.s.seq, nil
}

func (h *held) Checkpoint(ctx context.Context, through uint64, state iter.Seq[[]byte]) error {
	var all [][]byte
	for record := range state {
		all = append(all, bytes.Clone(record))
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	h.m.mu.Lock()
	defer h.m.mu.Unlock()
	switch {
	case h.s.epoch != h.epoch:
		return logstore.ErrFenced
	case through < h.s.through || through > h.s.seq:
		return fmt.Errorf("a checkpoint through %d of a log from %d to %d", through, h.s.through, h.s.seq)
	}
	h.s.tail = append([][]byte(nil), h.s.tail[through-h.s.through:]...)
	h.s.through, h.s.state = through, all
	return nil
}

// Release raises the epoch, which ends the claim.
func (h *held) Release(context.Context, string) error {
	h.m.mu.Lock()
	defer h.m.mu.Unlock()
	if h.s.epoch == h.epoch {
		h.s.epoch++
	}
	return nil
}
