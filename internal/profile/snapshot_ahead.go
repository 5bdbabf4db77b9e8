package profile

import (
	"encoding/binary"
	"time"

	"wamble"
	"wamble/internal/board"
	"wamble/internal/pack"
)

// Shelve comes before Adopt: Data is what the other process has written ahead of its snapshot. Unlike other
// inputs its Data is read until Adopting is over.
type Shelve struct{ Data []byte }

func (in *Shelve) pack(w *pack.Writer) { w.Bytes(in.Data) }

func (in *Shelve) unpack(r *pack.Reader) { in.Data = append([]byte(nil), r.Bytes()...) }

func (in *Shelve) apply(p *Profile, _ *Output) { p.shelved = in.Data }

// Shelf configures the boards of a handoff: they are written ahead if there are at least From free boards,
// except Keep boards in play; the next process takes in Part of them per step. Tests of a whole server set
// smaller numbers.
var Shelf = struct{ From, Keep, Part int }{From: 20_000, Keep: 2_000, Part: 512}

// shelfPause is how long an idle profile waits before it takes in the next boards.
const shelfPause = time.Millisecond

// Ahead is the boards that are being written ahead of a snapshot.
type Ahead = board.Ahead

// IsLarge reports whether boards should be written ahead of a snapshot.
func (p *Profile) IsLarge() bool { return p.boards.Free() >= Shelf.From }

// BeginAhead begins to write boards that do not change, so that Snapshot can leave them out, until
// EndAhead. It returns nil if there are few boards.
func (p *Profile) BeginAhead() *Ahead {
	if !p.IsLarge() {
		return nil
	}
	return p.boards.BeginAhead(Shelf.Keep)
}

// WriteAhead writes the next boards; see board.Pool.
func (p *Profile) WriteAhead(a *Ahead, dst []byte, n int) ([]byte, bool) {
	return p.boards.WriteAhead(a, dst, n)
}

// Ahead reports whether Snapshot leaves out what was written ahead.
func (p *Profile) Ahead() bool { return p.boards.Ahead() }

// EndAhead makes snapshots complete again.
func (p *Profile) EndAhead() { p.boards.EndAhead() }

// Adopting reports whether part of Shelve is not taken in yet. Meanwhile there can be no Walk and no
// Snapshot.
func (p *Profile) Adopting() bool { return p.boards.Shelved() > 0 }

// unshelve takes in the next boards of Shelve.
func (p *Profile) unshelve(out *Output) {
	if p.shelved == nil {
		return
	}
	if err := p.boards.Unshelve(Shelf.Part); err != nil {
		p.trouble(err, out)
	}
	if !p.Adopting() {
		p.shelved = nil
	}
}

// The section woken has the numbers of boards that have changed since they were written ahead.
func saveWoken(p *Profile, dst []byte) ([]byte, error) {
	for _, id := range p.boards.Woken() {
		dst = binary.LittleEndian.AppendUint64(dst, uint64(id))
	}
	return dst, nil
}

func loadWoken(a *adoption, state []byte) error {
	if len(state)%8 != 0 {
		return ErrState
	}
	for ; len(state) > 0; state = state[8:] {
		a.woken = append(a.woken, wamble.BoardID(binary.LittleEndian.Uint64(state)))
	}
	return nil
}
