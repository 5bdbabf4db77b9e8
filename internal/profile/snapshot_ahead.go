package profile

import (
	"encoding/binary"
	"time"

	"wamble"
	"wamble/internal/board"
	"wamble/internal/pack"
)

// AdoptAhead comes before Adopt: Data is what the other process has written ahead of its snapshot. Unlike other
// inputs its Data is read until Adopting is over.
type AdoptAhead struct{ Data []byte }

func (in *AdoptAhead) pack(w *pack.Writer) { w.Bytes(in.Data) }

func (in *AdoptAhead) unpack(r *pack.Reader) { in.Data = append([]byte(nil), r.Bytes()...) }

func (in *AdoptAhead) apply(p *Profile, _ *Output) { p.aheadData = in.Data }

// AheadOptions configures how boards are handed over: they are written ahead if there are at least From free boards,
// except Keep boards in play; the next process takes in Part of them per step. Tests of a whole server set
// smaller numbers.
var AheadOptions = struct{ From, Keep, Part int }{From: 20_000, Keep: 2_000, Part: 512}

// deferredPause is how long an idle profile waits before it takes in the next boards.
const deferredPause = time.Millisecond

// Ahead is the boards that are being written ahead of a snapshot.
type Ahead = board.Ahead

// IsLarge reports whether boards should be written ahead of a snapshot.
func (p *Profile) IsLarge() bool { return p.boards.Free() >= AheadOptions.From }

// BeginAhead begins to write boards that do not change, so that Snapshot can leave them out, until
// EndAhead. It returns nil if there are few boards.
func (p *Profile) BeginAhead() *Ahead {
	if !p.IsLarge() {
		return nil
	}
	return p.boards.BeginAhead(AheadOptions.Keep)
}

// WriteAhead writes the next boards; see board.Pool.
func (p *Profile) WriteAhead(a *Ahead, dst []byte, n int) ([]byte, bool) {
	return p.boards.WriteAhead(a, dst, n)
}

// Ahead reports whether Snapshot leaves out what was written ahead.
func (p *Profile) Ahead() bool { return p.boards.Ahead() }

// EndAhead makes snapshots complete again.
func (p *Profile) EndAhead() { p.boards.EndAhead() }

// Adopting reports whether part of AdoptAhead is not taken in yet. Meanwhile there can be no Walk and no
// Snapshot.
func (p *Profile) Adopting() bool { return p.boards.Deferred() > 0 }

// readDeferred takes in the next boards of AdoptAhead.
func (p *Profile) readDeferred(out *Output) {
	if p.aheadData == nil {
		return
	}
	if err := p.boards.ReadDeferred(AheadOptions.Part); err != nil {
		p.trouble(err, out)
	}
	if !p.Adopting() {
		p.aheadData = nil
	}
}

// The section woken has the numbers of boards that have changed since they were written ahead.
func saveOutdated(p *Profile, dst []byte) ([]byte, error) {
	for _, id := range p.boards.Outdated() {
		dst = binary.LittleEndian.AppendUint64(dst, uint64(id))
	}
	return dst, nil
}

func loadOutdated(a *adoption, state []byte) error {
	if len(state)%8 != 0 {
		return ErrState
	}
	for ; len(state) > 0; state = state[8:] {
		a.outdated = append(a.outdated, wamble.BoardID(binary.LittleEndian.Uint64(state)))
	}
	return nil
}
