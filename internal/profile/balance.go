package profile

import "wamble"

// balanceAtOnce is how many boards one step makes, wakes or puts to sleep, in about a millisecond: a large
// pool is filled in many steps, and players move between them.
const balanceAtOnce = 128

// balanceBoards keeps as many boards in play as the present players need, as long as there are numbers for new ones.
func (p *Profile) balanceBoards(out *Output) {
	if !p.balanced() {
		p.boards.Balance(p.clock.now, p.balanceBatch(), &p.frame)
		p.seal(out)
	}
}

// balanceBatch returns balanceAtOnce, or with several shards this shard's part of what max-boards leaves, since all
// shards may fill at this moment.
func (p *Profile) balanceBatch() int {
	if room := p.boards.Options().MaxBoards - p.boards.Len(); p.shard.Of > 1 && room > 0 {
		return min(balanceAtOnce, max(1, room/p.shard.Of))
	}
	return balanceAtOnce
}

// balanced reports whether the number of boards in play is right, or cannot be changed.
func (p *Profile) balanced() bool {
	return p.frozen || p.boards.Balanced(p.leases.Remaining(wamble.BoardIDs) > 0)
}

// FreezeBoards stops fill, or lets it go on: while a handoff writes the boards they must not become more. A
// player who needs a board still gets one.
type FreezeBoards struct{ On bool }

func (in *FreezeBoards) apply(p *Profile, _ *Output) { p.frozen = in.On }
