package profile

import (
	"wamble"
)

// Lease asks for Count numbers of a sequence.
type Lease struct {
	Sequence wamble.Sequence
	Count    int
}

// Leased is the answer to a Lease. No blocks: the lease failed, and will be asked
// for again.
type Leased struct {
	Sequence wamble.Sequence
	Blocks   []wamble.Block
}

func (in *Leased) take(p *Profile, _ *Output) {
	if int(in.Sequence) < len(wamble.Sequences()) { // a damaged recording may say anything
		p.leases.Add(in.Sequence, in.Blocks)
	}
}

// leased are the sequences of which a profile needs numbers.
var leased = [...]wamble.Sequence{wamble.BoardIDs, wamble.SessionIDs, wamble.PlayerIDs, wamble.PredictionIDs}

// wantLeases asks for numbers that are running out.
func (p *Profile) wantLeases(out *Output) {
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
