package profile

import "wamble"

// fillAtOnce is how many boards one step makes, wakes or lets sleep, in about a
// millisecond: a large pool is filled by many steps, and players move between them.
const fillAtOnce = 128

// fill keeps as many boards in play as the players who are here need, as far as there
// are numbers.
func (p *Profile) fill(out *Output) {
	if !p.balanced() {
		p.boards.Balance(p.clock.now, p.fillNow(), &p.draft)
		p.seal(out)
	}
}

// fillNow is fillAtOnce, or the part of a shard in what max-boards leaves: all of them may
// fill at this moment.
func (p *Profile) fillNow() int {
	if room := p.boards.Options().MaxBoards - p.boards.Len(); p.shard.Of > 1 && room > 0 {
		return min(fillAtOnce, max(1, room/p.shard.Of))
	}
	return fillAtOnce
}

// balanced reports whether the number of boards in play is right, or cannot be changed.
func (p *Profile) balanced() bool {
	return p.held || p.boards.Balanced(p.leases.Left(wamble.BoardIDs) > 0)
}

// HoldBoards leaves the number of boards in play as it is, or lets it change again:
// while a handoff writes a world down, it is not to grow. Who needs a board still gets
// one.
type HoldBoards struct{ On bool }

func (in *HoldBoards) take(p *Profile, _ *Output) { p.held = in.On }
