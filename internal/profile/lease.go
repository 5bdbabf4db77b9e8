package profile

import (
	"wamble"
	"wamble/internal/pack"
)

// Lease is a wish for Count numbers of a sequence.
type Lease struct {
	Sequence wamble.Sequence
	Count    int
}

// Leased brings numbers. No blocks: the lease failed, and will be wished for
// again.
type Leased struct {
	Sequence wamble.Sequence
	Blocks   []wamble.Block
}

func (in *Leased) take(p *Profile, _ *Output) { p.leases.Add(in.Sequence, in.Blocks) }

func (in *Leased) pack(w *pack.Writer) error {
	w.Raw(byte(in.Sequence))
	packBlocks(w, in.Blocks)
	return nil
}

func (in *Leased) unpack(r *pack.Reader) {
	in.Sequence = wamble.Sequence(r.Octet())
	r.Must(int(in.Sequence) < len(wamble.Sequences()))
	in.Blocks = unpackBlocks(r)
}

func packBlocks(w *pack.Writer, blocks []wamble.Block) {
	w.Uint(uint64(len(blocks)))
	for _, b := range blocks {
		w.Int(b.First)
		w.Int(b.Count)
	}
}

func unpackBlocks(r *pack.Reader) (blocks []wamble.Block) {
	for n := r.Uint(); n > 0 && !r.Bad(); n-- {
		blocks = append(blocks, wamble.Block{First: r.Int(), Count: r.Int()})
	}
	return blocks
}

// leased are the sequences of which a profile needs numbers.
var leased = [...]wamble.Sequence{wamble.BoardIDs, wamble.SessionIDs, wamble.PlayerIDs, wamble.PredictionIDs}

// wish asks for numbers that are running out.
func (p *Profile) wish(out *Output) {
	if p.stage == failed {
		return
	}
	for _, s := range leased {
		if s == wamble.PredictionIDs && !p.audience.book.Open() {
			continue
		}
		if n := p.leases.Want(s); n > 0 {
			out.Leases = append(out.Leases, Lease{s, n})
		}
	}
}
