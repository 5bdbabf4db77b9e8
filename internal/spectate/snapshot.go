package spectate

import (
	"encoding/binary"
	"errors"

	"wamble"
)

// ErrState is returned for a snapshot that is damaged or of another version.
var ErrState = errors.New("the state of the spectators is damaged or of another version")

// A snapshot is, in little endian: the magic, the time, the newest generation and the number of watchers;
// for each the numbers below, 8 bytes each, then token, state, filter, flags and board. The last character
// of the magic is the version.
const (
	magic       = "wamble spectators 1\n"
	watcherSize = 10*8 + 16 + 3
)

const (
	flagModes = 1 << iota
	flagCounts
)

// numbers returns the numbers of a watcher that a snapshot has. What the watcher was shown is not included:
// everything is shown again, without a reset.
func (w *watcher) numbers() [9]*int64 {
	return [9]*int64{
		(*int64)(&w.session), &w.seen.generation, &w.seen.refreshed,
		&w.times.next, &w.times.check, &w.times.lastSeen, &w.times.shown, &w.times.probed, &w.allowance.tokens,
	}
}

// Snapshot appends all watchers to dst, for Load in another process. Boards are left out.
func (h *Hub) Snapshot(dst []byte) []byte {
	le := binary.LittleEndian
	dst = append(dst, magic...)
	for _, n := range []int64{h.now, h.generation, int64(len(h.watchers))} {
		dst = le.AppendUint64(dst, uint64(n))
	}
	for _, w := range h.watchers {
		for _, n := range w.numbers() {
			dst = le.AppendUint64(dst, uint64(*n))
		}
		dst = append(dst, w.token[:]...)
		flags := byte(0)
		if w.modes {
			flags |= flagModes
		}
		if w.counts {
			flags |= flagCounts
		}
		dst = append(dst, byte(w.state), byte(w.filter), flags)
		dst = le.AppendUint64(dst, uint64(w.board))
	}
	return dst
}

// Load returns the hub of a snapshot. It is closed, and must be opened first if it has watchers. Errors:
// ErrState for bytes that Snapshot cannot have written.
func Load(opts Options, state []byte) (*Hub, error) {
	h := New(opts)
	if len(state) < len(magic)+3*8 || string(state[:len(magic)]) != magic {
		return nil, ErrState
	}
	rest := state[len(magic):]
	take := func() int64 {
		n := int64(binary.LittleEndian.Uint64(rest))
		rest = rest[8:]
		return n
	}
	h.now, h.generation = take(), take()
	count := take()
	if count < 0 || int64(len(rest)) != count*watcherSize {
		return nil, ErrState
	}
	h.nextTurn, h.empty, h.total.at = h.now, h.now, h.now
	for range count {
		w := &watcher{}
		for _, n := range w.numbers() {
			*n = take()
		}
		copy(w.token[:], rest)
		w.state, w.filter = stateOf(rest[16]), Filter(rest[17])
		flags := rest[18]
		rest = rest[19:]
		w.board = wamble.BoardID(take())
		w.modes = flags&flagModes != 0
		w.allowance.at = h.now
		if w.state == 0 || w.filter > StandardBoards || flags >= flagCounts<<1 || h.bySession[w.session] != nil ||
			(w.state == focus) != (w.board != 0) {
			return nil, ErrState
		}
		h.count(w, flags&flagCounts != 0)
		h.watchers = append(h.watchers, w)
		h.bySession[w.session] = w
	}
	return h, nil
}

func stateOf(b byte) state {
	if s := state(b); s == summary || s == focus {
		return s
	}
	return 0
}
