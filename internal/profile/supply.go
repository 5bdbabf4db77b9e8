package profile

import "wamble"

// fillAtOnce is how many boards one step makes, wakes or puts to sleep, in about a millisecond: a large
// pool is filled in many steps, and players move between them.
const fillAtOnce = 128

// fill keeps as many boards in play as the present players need, as long as there are numbers for new ones.
func (p *Profile) fill(out *Output) {
	if !p.balanced() {
		p.boards.Balance(p.clock.now, p.fillNow(), &p.draft)
		p.seal(out)
	}
}

// fillNow returns fillAtOnce, or with several shards this shard's part of what max-boards leaves, since all
// shards may fill at this moment.
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

// HoldBoards stops fill, or lets it go on: while a handoff writes the boards they must not become more. A
// player who needs a board still gets one.
type HoldBoards struct{ On bool }

func (in *HoldBoards) take(p *Profile, _ *Output) { p.held = in.On }
