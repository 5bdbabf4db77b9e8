package profile

import (
	"testing"
	"time"

	"wamble"
	"wamble/internal/prooftest"
	"wamble/wire"
)

// With several parts every node serves some. A player reaches any node, which forwards their
// packets to the one that has the part of their token. Boards move between the parts through
// the store. Besides the faults of nodes, parts are moved, all processes are replaced one
// after another, and the store goes away:
//
//	move:    freeze ──▶ bring the log to the store, if there is time ──▶ release ──▶ the successor claims
//	replace: freeze ──▶ snapshot ──▶ the next process adopts it, with the claim

// TestModelOfParts lets players play in a model of several nodes and parts. Every accepted
// move is in its log once and in the store once, nothing is sent by an instance whose claim
// has ended, the versions of boards only rise, a session holds one board at most, and every
// board is in one shard, or on its way to one where it arrives.
func TestModelOfParts(t *testing.T) {
	t.Parallel()
	modelNodes(t, prooftest.Sized(150, 1000, 100_000), func(t *testing.T, seed uint64) *nodes {
		return newNodes(t, seed, 3, 4, `(def min-boards 20) (def max-boards 40)`)
	}, "crash", "sleep", "cut", "deposed", "dropped", "lease over", "append fenced", "append lost", "append unanswered",
		"claim lost", "claim unanswered",
		"moved", "move given up", "release lost", "release unanswered", "replaced", "store away", "relayed",
		"relay lost", "nobody reached",
		"travelled", "travel interrupted")
}

// reach brings a packet to the node that the player sends to, and from there to the one that
// has their part. A player without a token gets a part of the node.
func (w *nodes) reach(in *Packet) {
	if w.via[in.Peer] == nil || w.odds(8) {
		w.via[in.Peer] = w.all[w.rng.IntN(len(w.all))]
	}
	h, err := wire.Peek(in.Data)
	if err != nil {
		w.t.Fatal(err)
	}
	n := w.via[in.Peer]
	n.later(0, func() {
		if h.Token.IsZero() {
			n.welcome(in)
			return
		}
		k := h.Token.Shard(len(w.parts))
		owner := n.known[k]
		switch {
		case n.serves(k):
			n.lives[k].take(in)
		case owner == nil || owner == n:
			w.faults["nobody reached"]++
		case w.odds(20):
			w.faults["relay lost"]++
		default:
			w.faults["relayed"]++
			w.after(w.latency(), false, func() []Input {
				owner.later(0, func() {
					if owner.serves(k) {
						owner.lives[k].take(in)
					}
				})
				return nil
			})
		}
	})
}

func (n *node) serves(k int) bool { return n.lives[k] != nil && n.lives[k].p != nil }

// welcome brings the packet of a new player to a part of the node.
func (n *node) welcome(in *Packet) {
	var here []*life
	for k, l := range n.lives {
		if n.serves(k) {
			here = append(here, l)
		}
	}
	if len(here) == 0 {
		n.w.faults["nobody reached"]++
		return
	}
	here[n.w.rng.IntN(len(here))].take(in)
}

// answer brings a packet of an instance to a client, through the node that the client has
// sent to.
func (w *nodes) answer(l *life, to wamble.Peer, b []byte) {
	if via := w.via[to]; via != nil && via != l.n && (via.asleep() || w.odds(20)) {
		w.faults["relay lost"]++
		return
	}
	w.carry(to, b)
}

// hearWorld gives the life the counts of the other parts, as far as they are known, and now
// and then makes it time to send a board.
func (l *life) hearWorld() {
	w := l.n.w
	if w.odds(8) {
		w.open = 1 + w.rng.IntN(len(w.parts))
	}
	world, others := &ShardCounts{Open: w.open}, &Others{}
	for _, p := range w.parts {
		world.Shards = append(world.Shards, p.count)
		if p != l.part {
			others.Players += p.count.Players
			others.Boards += p.count.Boards
		}
	}
	l.take(others)
	l.take(world)
	if w.odds(2) {
		l.p.transfers.moves = l.p.stats.Moves - sendEvery
	}
}

// arrivals looks for boards that were sent to the part. The store's answer comes late, and
// sometimes twice.
func (l *life) arrivals() {
	w := l.n.w
	round, ok := l.p.BeginArrivals()
	if !ok {
		return
	}
	l.later(w.upTo(50*time.Millisecond), func() {
		if !l.n.reaches() {
			return
		}
		in := &Arrive{Round: round, Boards: w.store.arrived(l.part.index)}
		l.later(w.upTo(50*time.Millisecond), func() {
			l.take(in)
			if w.odds(4) {
				l.take(in)
			}
		})
	})
}

// idle reports whether everything that the life has decided is durable.
func (l *life) idle() bool { return !l.busy && len(l.groups) == 0 }

// runs reports whether the life serves players.
func (l *life) runs() bool { return l != nil && l.p != nil && l.p.stage == running && !l.frozen }

// freeze pauses lives when everything is durable, then calls do. If that takes too long, they
// go on without it.
func (n *node) freeze(lives []*life, what string, do func()) {
	for _, l := range lives {
		l.frozen = true
	}
	var rest func(left int)
	rest = func(left int) {
		idle := true
		for _, l := range lives {
			idle = idle && l.idle() && l.lives()
		}
		switch {
		case idle:
			do()
		case left == 0:
			n.w.faults[what+" given up"]++
			for _, l := range lives {
				l.thaw()
			}
		default:
			n.later(20*time.Millisecond, func() { rest(left - 1) })
		}
	}
	n.later(0, func() { rest(40) })
}

func (l *life) thaw() {
	l.frozen = false
	l.later(0, l.flush)
}

// movePart moves a part to another node.
func (w *nodes) movePart() {
	var runs []*life
	for _, n := range w.all {
		for _, l := range n.lives {
			if l.runs() {
				runs = append(runs, l)
			}
		}
	}
	if len(runs) == 0 {
		return
	}
	l, successor := runs[w.rng.IntN(len(runs))], w.all[w.rng.IntN(len(w.all))]
	p := l.part
	l.n.freeze([]*life{l}, "move", func() {
		if l.n.reaches() && w.rng.IntN(3) > 0 {
			w.apply(p, p.journal)
		}
		l.release(successor)
	})
}

// release gives the part to another node. The life ends, whether or not the release is known
// to have succeeded.
func (l *life) release(successor *node) {
	w, p := l.n.w, l.part
	l.n.ask("release", func() func() {
		if l.fenced() {
			return l.end
		}
		if err := l.held.Release(w.t.Context(), successor.name); err != nil {
			w.t.Fatal(err)
		}
		w.faults["moved"]++
		p.epoch++
		p.holder, p.successor = nil, successor
		return l.end
	}, l.end)
}

// replaceAll replaces the processes of all nodes, one after another.
func (w *nodes) replaceAll() {
	d := time.Duration(0)
	for _, n := range w.all {
		n.later(d, n.replace)
		d += w.upTo(time.Second)
	}
}

// replace lets another process go on in place of this one, with its claims. Parts that are
// not ready for that begin anew.
func (n *node) replace() {
	w := n.w
	var lives []*life
	for _, l := range n.lives {
		if l.runs() {
			lives = append(lives, l)
		}
	}
	n.freeze(lives, "replacement", func() {
		w.faults["replaced"]++
		n.boot()
		for _, old := range lives {
			state := handedOver(w.t, old.p)
			l := &life{n: n, part: old.part, held: old.held, epoch: old.epoch, leased: old.leased,
				p: New(w.options(old.part))}
			n.lives[l.part.index] = l
			if l.step(state...); w.store.away {
				l.step(&StoreAway{})
			}
			l.work()
		}
	})
}

// loseStore makes the store away for a while.
func (w *nodes) loseStore() {
	if w.store.away {
		return
	}
	w.faults["store away"]++
	w.store.away = true
	w.tellAll(&StoreAway{})
	w.after(w.upTo(4*time.Second), false, func() []Input { w.findStore(); return nil })
}

func (w *nodes) findStore() {
	if w.store.away {
		w.store.away = false
		w.tellAll(&StoreBack{})
	}
}

// tellAll sends an input to all lives.
func (w *nodes) tellAll(in Input) {
	for _, n := range w.all {
		for k, l := range n.lives {
			if n.serves(k) {
				l.take(in)
			}
		}
	}
}

// countInterrupted counts the boards on their way when a node crashes.
func (w *nodes) countInterrupted(n *node) {
	for id := range w.judge.underway {
		if w.parts[w.judge.at[id]].holder == n {
			w.faults["travel interrupted"]++
		}
	}
	for k, l := range n.lives {
		if !n.serves(k) || l.fenced() {
			continue
		}
		for id, durableIndex := range l.p.transfers.inTransfer {
			if durableIndex > l.p.watermarks.stored && !(w.judge.underway[id] && w.parts[w.judge.at[id]].holder == n) {
				w.faults["travel interrupted"]++
			}
		}
	}
}

// checkMemory checks that the life that holds a part has exactly the boards of its shard.
func (w *nodes) checkMemory(l *life) {
	k := l.part.index
	for b := range l.p.boards.All() {
		if at, known := w.judge.at[b.ID()]; known && at != k {
			w.t.Fatalf("board %d is in the memory of part %d, and was sent to part %d", b.ID(), k, at)
		}
	}
	if !l.idle() || l.out.Frames.Len() > 0 || l.p.stage != running {
		return
	}
	for id, at := range w.judge.at {
		if at == k && !w.judge.underway[id] && !w.judge.games[id].over && l.p.boards.Board(id) == nil {
			w.t.Fatalf("part %d has lost board %d", k, id)
		}
	}
}

// checkStored compares what the store has of a part in the end with its log and with the
// memory of the life.
func (w *nodes) checkStored(l *life) {
	for id, at := range w.judge.at {
		if at != l.part.index {
			continue
		}
		g, row := w.judge.games[id], w.store.boards[id]
		if row.Version != w.judge.lastly[id] || row.FEN != g.position.FEN() || len(row.Moves) != len(g.movers) ||
			w.store.shards[id].shard != at {
			w.t.Errorf("board %d is stored in part %d with version %d and %d moves, and is in part %d with version %d and %d moves",
				id, w.store.shards[id].shard, row.Version, len(row.Moves), at, w.judge.lastly[id], len(g.movers))
		}
		if _, left := w.store.arrivals[id]; left || w.judge.underway[id] {
			w.t.Errorf("board %d has not arrived in part %d", id, at)
		}
		if !l.idle() { // a board may be about to leave
			continue
		}
		if b := l.p.boards.Board(id); (b == nil) != g.over || b != nil &&
			(b.Version() != row.Version || b.FEN() != row.FEN) {
			w.t.Errorf("board %d is not as stored in the memory of part %d", id, at)
		}
	}
}
