package profile

import (
	"math/bits"
	"time"

	"wamble"
	"wamble/internal/board"
	"wamble/internal/session"
)

// A profile of several shards is several Profiles, each with players of its own. Boards move between them
// through the store:
//
//	MOVE_BOARD in the journal of the sender: the board has left its memory
//	… applied: the row names the new shard, and the board is among its arrivals
//	Arrive: the receiver takes it in, with ARRIVE_BOARD in its own journal
//	… applied: it is no arrival any more
//
// A crash at any point loses nothing: the row decides.

// ShardCounts is the counts of all shards of the profile, this one included, in the order of their numbers. It
// comes from time to time, and may be a little old.
type ShardCounts struct {
	Node   uint32 `json:",omitempty"` // number of this machine, as in wamble.Peer; 0 on a single machine
	Open   int    // how many shards take new players: the first ones
	Opened uint64 `json:",omitempty"` // bit k: shard k takes new players; 0: use Open
	Shards []ShardCount
}

func (in *ShardCounts) opened() uint64 {
	if in.Opened != 0 {
		return in.Opened
	}
	return 1<<in.Open - 1
}

// ShardCount is the counts of one shard.
type ShardCount struct {
	Players, Bots, Boards, Free int
	// Idle is the players who neither hold a board nor wait for one: spectators and others. Older versions
	// do not set it.
	Idle       int  `json:",omitempty"`
	Spectators int  // those who count against the limit
	Offered    int  // offers of the last second or two that were not accepted yet
	Watched    bool // there are spectators, or were a moment ago
}

// Playing returns how many players hold a board and are here, or wait for one.
func (c *ShardCount) Playing() int { return c.Players - c.Idle }

// share returns the free boards per player.
func (c *ShardCount) share() float64 { return float64(c.Free) / float64(c.Players+1) }

// Others is the sum over the other shards of the profile. It comes before other new inputs, and is
// subtracted from the limits of the profile.
type Others struct{ Players, Bots, Boards, Spectators int }

func (in *Others) apply(p *Profile, _ *Output) {
	if p.shard.Of <= 1 || *in == p.transfers.others {
		return
	}
	p.transfers.others = *in
	p.sessions.Reconfigure(p.sessionOptions())
	p.limitBoards()
	p.audience.spectators.SetMax(p.spectateOptions().Max)
}

// RemoteNewcomers is the hosts of new players of another shard: they use up the allowance of their host here, too.
type RemoteNewcomers struct{ Newcomers []session.Newcomer }

func (in *RemoteNewcomers) apply(p *Profile, _ *Output) {
	p.sessions.CountNewcomers(p.clock.now, in.Newcomers)
}

func (in *ShardCounts) apply(p *Profile, _ *Output) {
	t := &p.transfers
	if len(in.Shards) != p.shard.Of || p.shard.Of <= 1 {
		return
	}
	t.node = in.Node
	t.open = in.opened() & (1<<p.shard.Of - 1)
	t.counts = append(t.counts[:0], in.Shards...)
	watchers := uint64(0)
	for k, c := range t.counts {
		if k != p.shard.Index && c.Watched {
			watchers |= 1 << k
		}
	}
	p.setWatchers(watchers)
	p.limitBoards()
}

// limitBoards subtracts from max-boards the boards of other shards and those under way.
func (p *Profile) limitBoards() { p.boards.Options().MaxBoards = p.boardOptions().MaxBoards }

// Count returns the counts of this shard after the last step.
func (p *Profile) Count() ShardCount { return p.transfers.count }

func (p *Profile) count() ShardCount {
	return ShardCount{
		Players: p.sessions.Present(), Idle: p.sessions.Present() - p.boards.Here() - p.waitlist.here(),
		Bots: p.sessions.Bots(), Boards: p.boards.Len() + p.transfers.inTransit(p.clock.now, p.stats.Sent),
		Free:       p.boards.Free(),
		Spectators: p.audience.spectators.Counted(), Offered: p.offeredLately(),
		// An open hub without spectators remembers boards, and must not miss what becomes of them.
		Watched: p.audience.spectators.Len() > 0 || p.audience.spectators.IsOpen(),
	}
}

// offeredLately returns how many offers of the last second or two were not accepted yet: when many players
// come at once, most of them have not answered yet.
func (p *Profile) offeredLately() int {
	return p.transfers.offers.of(p.clock.now, int(p.stats.Offers)-int(p.stats.NewPlayers))
}

// recentGrowth measures by how much a count has grown in the last second or two.
type recentGrowth struct {
	at            time.Time
	before, since int
}

func (l *recentGrowth) of(now time.Time, n int) int {
	if now.Sub(l.at) >= time.Second {
		l.at, l.before, l.since = now, l.since, n
	}
	return max(0, n-l.before)
}

// inTransit returns how many boards were sent in the last second or two. They may not have arrived, and
// still count here.
func (t *transfers) inTransit(now time.Time, sent uint64) int { return t.departures.of(now, int(sent)) }

// transfers is what a shard knows of the others, and of the boards under way.
type transfers struct {
	node   uint32 // number of this machine; 0 on a single machine
	open   uint64 // shards that take new players, one bit each
	counts []ShardCount
	others Others
	// watchers is the other shards with spectators, one bit each, and views what they will be sent.
	watchers           uint64
	views              []BoardView
	offers, departures recentGrowth
	count              ShardCount
	moves              uint64 // Stats.Moves when a board was last sent
	turn               int    // the shard to which a board was last sent
	// inTransfer is the boards that were sent, taken in or finished, with the durable index of that: until the store
	// has it, its row is outdated.
	inTransfer map[wamble.BoardID]uint64
	// round is the number of the last query for arrivals, and after the durable index that the store must have
	// before the first: an earlier process may have sent boards.
	round, after uint64
}

const (
	// sendEvery is after how many moves a board is sent to another shard: so players meet the boards of all
	// shards, for less than two sends per hundred moves.
	sendEvery = 64
	// maxInTransit bounds the boards under way to this part of a shard's boards, for shards with many moves
	// and few boards: no player can reach a board under way.
	maxInTransit = 8
	// fewFree is how many free boards a shard keeps.
	fewFree = 4
	// maxInTransfer bounds inTransfer, for example while the store is away.
	maxInTransfer = 1024
)

// isClearing reports whether the shard is closed to new players and has no players: then it sends its boards to
// the first open shard.
func (p *Profile) isClearing() bool {
	t := &p.transfers
	return t.counts != nil && t.open != 0 && !t.isOpen(p.shard.Index) && p.sessions.Present() == 0 &&
		p.boards.Here() == 0 && p.mayTransfer()
}

// isOpen reports whether a shard takes new players.
func (t *transfers) isOpen(k int) bool { return t.open&(1<<k) != 0 }

// accepts reports whether boards are sent to a shard: it is open, or has players who came before it was
// closed or have come back to it.
func (t *transfers) accepts(k int) bool { return t.isOpen(k) || t.counts[k].Playing() > 0 }

// isLonely reports whether a shard has one playing player while others play in other shards: no player of
// the shard can answer this player's moves.
func (t *transfers) isLonely(k int) bool { return t.counts[k].Playing() == 1 && t.hasCompany(k) }

// hasCompany reports whether players play in another shard than k.
func (t *transfers) hasCompany(k int) bool {
	for i := range t.counts {
		if i != k && t.counts[i].Playing() > 0 {
			return true
		}
	}
	return false
}

// mayTransfer reports whether a board that is sent now arrives soon.
func (p *Profile) mayTransfer() bool {
	return !p.storeAway && len(p.transfers.inTransfer) < maxInTransfer
}

// send sends boards to other shards if they are due.
func (p *Profile) send(out *Output) {
	t := &p.transfers
	if p.shard.Of <= 1 {
		return
	}
	if p.isClearing() {
		for range balanceAtOnce {
			to := bits.TrailingZeros64(t.open)
			if !p.sent(p.boards.SendAnyTo(p.clock.now, p.shard.Index, to, p.stays, &p.frame), out) {
				return
			}
		}
		return
	}
	if t.counts == nil || !p.mayTransfer() {
		return
	}
	if t.isLonely(p.shard.Index) && p.sendOwn(out) {
		return
	}
	if p.boards.Free() <= fewFree {
		return
	}
	to, needs := p.neediestShard()
	if !needs {
		if p.stats.Moves-t.moves < sendEvery || t.inTransit(p.clock.now, p.stats.Sent) > p.boards.Len()/maxInTransit {
			return
		}
		own := ShardCount{Players: p.sessions.Present(), Free: p.boards.Free()}
		if to = p.destination(t.accepts); to < 0 || t.counts[to].share() > own.share() {
			return // that shard sends some itself, when its players move
		}
	}
	t.moves = p.stats.Moves
	t.counts[to].Free++ // until the next ShardCounts
	stays := p.stays
	if t.isLonely(to) {
		stays = p.othersMoved // no board without a later move of another player
	}
	p.sent(p.boards.SendTo(p.clock.now, p.shard.Index, to, stays, &p.frame), out)
}

// sendOwn sends a board on which the only player here moved last to a shard where others play, one after
// each of the player's moves, and reports whether it did. The others send boards in return (see needy; a
// lonely shard by its own sendOwn). It keeps boards that no other shard would replace.
func (p *Profile) sendOwn(out *Output) bool {
	t := &p.transfers
	if p.stats.Moves == t.moves || t.inTransit(p.clock.now, p.stats.Sent) > 1 {
		return false
	}
	to := p.destination(func(k int) bool { return t.counts[k].Playing() > 0 })
	if free := p.boards.Free(); t.isLonely(to) && t.counts[to].Free > free+1 ||
		!t.isLonely(to) && free <= p.boards.Options().MinBoards+fewFree/2 {
		return false
	}
	if !p.sent(p.boards.SendTo(p.clock.now, p.shard.Index, to, p.othersMoved, &p.frame), out) {
		return false
	}
	t.moves = p.stats.Moves
	t.counts[to].Free++ // until the next ShardCounts
	return true
}

// neediestShard returns the shard that needs free boards most, if any: it has few while no shard may make more, or
// its only player would have to answer their own moves. Such a shard is sent boards at once.
func (p *Profile) neediestShard() (to int, ok bool) {
	t := &p.transfers
	full := p.boards.Len()+t.others.Boards >= p.cfg.Boards.MaxBoards
	for k := range p.shard.Of {
		most := 0
		switch {
		case k == p.shard.Index:
		case t.isLonely(k):
			most = fewFree
		case full && t.accepts(k):
			most = min(fewFree, p.boards.Free()/2)
		}
		if free := t.counts[k].Free; free < most && (!ok || free < t.counts[to].Free) {
			to, ok = k, true
		}
	}
	return to, ok
}

// destination returns the shard with the fewest free boards per player among those that may allows; equal
// ones take turns. It returns -1 if there is none.
func (p *Profile) destination(may func(k int) bool) int {
	t := &p.transfers
	best, least := -1, 0.0
	for i := range p.shard.Of {
		k := (t.turn + 1 + i) % p.shard.Of
		if k == p.shard.Index || !may(k) {
			continue
		}
		if share := t.counts[k].share(); best < 0 || share < least {
			best, least = k, share
		}
	}
	t.turn = max(0, best)
	return best
}

// stays reports whether a free board must not be sent, because of predictions or spectators here.
func (p *Profile) stays(b *board.Board) bool {
	return p.audience.predictions.Has(b.ID()) || p.audience.spectators.Watched(b.ID())
}

// othersMoved reports whether a board must not be sent, or its last mover does not hold a board here.
func (p *Profile) othersMoved(b *board.Board) bool {
	last, moved := b.LastMove()
	return !moved || p.boards.Held(last.Session) == nil || p.stays(b)
}

// sent records that a board was sent, and reports whether b is not nil.
func (p *Profile) sent(b *board.Board, out *Output) bool {
	if b == nil {
		return false
	}
	p.stats.Sent++
	p.limitBoards()
	p.seal(out)
	p.transfers.note(b.ID(), p.watermarks.newest)
	return true
}

func (t *transfers) note(id wamble.BoardID, durableIndex uint64) {
	if t.inTransfer == nil {
		t.inTransfer = map[wamble.BoardID]uint64{}
	}
	t.inTransfer[id] = durableIndex
}

// BeginArrivals begins a query for arrivals, and returns its number. It reports false while the store may
// not know which boards an earlier process has sent.
func (p *Profile) BeginArrivals() (round uint64, ok bool) {
	t := &p.transfers
	if p.stage != running || p.watermarks.stored < t.after {
		return 0, false
	}
	for id, durableIndex := range t.inTransfer {
		if durableIndex <= p.watermarks.stored {
			delete(t.inTransfer, id)
		}
	}
	t.round++
	return t.round, true
}

// Arrive is boards that were sent to this shard, read from the store since BeginArrivals.
type Arrive struct {
	Round  uint64
	Boards []wamble.Board
}

func (in *Arrive) apply(p *Profile, out *Output) {
	t := &p.transfers
	if p.stage != running || in.Round != t.round || p.readOnly() {
		return // the next query finds them again
	}
	for i := range in.Boards {
		stored := p.clock.boardFromStore(in.Boards[i])
		if _, busy := t.inTransfer[stored.ID]; busy {
			continue
		}
		if err := p.boards.Receive(p.clock.now, stored, p.shard.Index, p.clock.ahead, &p.frame); err != nil {
			p.trouble(err, out)
		}
		p.stats.Arrived++
		p.seal(out)
		t.note(stored.ID, p.watermarks.newest)
	}
}
