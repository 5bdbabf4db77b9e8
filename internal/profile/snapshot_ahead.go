package profile

import (
	"encoding/binary"
	"time"

	"wamble"
	"wamble/internal/board"
	"wamble/internal/pack"
)

// Shelve comes before Adopt: Data is what the other process has written ahead of its
// snapshot. Unlike other inputs it is looked at longer, until Adopting is over.
type Shelve struct{ Data []byte }

func (in *Shelve) pack(w *pack.Writer) { w.Bytes(in.Data) }

func (in *Shelve) unpack(r *pack.Reader) { in.Data = append([]byte(nil), r.Bytes()...) }

func (in *Shelve) take(p *Profile, _ *Output) { p.shelved = in.Data }

// Shelf says how boards get to the next process: from From free boards on it is worth to
// write them ahead, but for Keep that are in play, and the next process takes Part in each
// step. Tests of a whole server have fewer boards, and hold them back.
var Shelf = struct{ From, Keep, Part int }{From: 20_000, Keep: 2_000, Part: 512}

// shelfPause is how long an idle profile waits until it takes the next boards.
const shelfPause = time.Millisecond

// Ahead is the boards that are written ahead of a snapshot.
type Ahead = board.Ahead

// IsLarge reports whether a snapshot is worth to be written ahead.
func (p *Profile) IsLarge() bool { return p.boards.Free() >= Shelf.From }

// BeginAhead begins to write down the boards that do not change, so that Snapshot need
// not; nil if there are few. It lasts until EndAhead.
func (p *Profile) BeginAhead() *Ahead {
	if !p.IsLarge() {
		return nil
	}
	return p.boards.BeginAhead(Shelf.Keep)
}

// WriteAhead goes on with it; see board.Pool.
func (p *Profile) WriteAhead(a *Ahead, dst []byte, n int) ([]byte, bool) {
	return p.boards.WriteAhead(a, dst, n)
}

// Ahead reports whether Snapshot leaves out what was written ahead.
func (p *Profile) Ahead() bool { return p.boards.Ahead() }

// EndAhead makes snapshots whole again.
func (p *Profile) EndAhead() { p.boards.EndAhead() }

// Adopting reports whether something of Shelve is still to be taken in: so long there is
// no Walk, and no Snapshot.
func (p *Profile) Adopting() bool { return p.boards.Shelved() > 0 }

// unshelve goes on with the adoption.
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

// The section woken is the numbers of boards that were written ahead in vain.
func saveWoken(p *Profile, dst []byte) ([]byte, error) {
	for _, id := range p.boards.Woken() {
		dst = binary.LittleEndian.AppendUint64(dst, uint64(id))
	}
	return dst, nil
}

func loadWoken(v *adoption, state []byte) error {
	if len(state)%8 != 0 {
		return ErrState
	}
	for ; len(state) > 0; state = state[8:] {
		v.woken = append(v.woken, wamble.BoardID(binary.LittleEndian.Uint64(state)))
	}
	return nil
}
