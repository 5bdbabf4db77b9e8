package profile

import (
	"bytes"
	"container/heap"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"wamble"
	"wamble/internal/prooftest"
	"wamble/runner/logstore"
	"wamble/runner/logstore/logtest"
)

// nodes is a model in which several nodes share a log for each part, which is a shard of the
// profile. One node at a time holds a part and runs it, the others wait until that node's
// heartbeat has stopped. Nodes crash, pause and are cut off; their requests to the log are
// late, lost, or done without an answer.
//
//	beat ──▶ heard, or: nobody is heard for a lease ──▶ claim ──▶ life
//	life ──▶ append ──▶ done, refused (another has claimed) or unknown: the life ends
type nodes struct {
	*world
	all    []*node
	parts  []*part
	log    logtest.Memory
	lives  int                   // that began with a claim
	via    map[wamble.Peer]*node // the node that each player sends to
	open   int                   // so many shards take new players
	faults map[string]int
}

const (
	nodeLease = 2 * time.Second
	nodeBeat  = 500 * time.Millisecond
)

// part is a shard of the profile with its log.
type part struct {
	index     int
	journal   []journaled // all that the log has
	epoch     int         // of the last claim or release
	holder    *node       // nil: it was released
	successor *node       // to which it was released, nil: to any node
	cursor    uint64      // the last message that the store has
	count     ShardCount  // as the other shards know it
}

// node is a process that serves parts.
type node struct {
	w        *nodes
	name     string
	woken    time.Time // it sleeps until then
	mend     time.Time // it is cut off from the log until then
	boots    int       // requests of an earlier process are dropped
	seen     time.Time // when the log received its last heartbeat
	since    time.Time // since when every beat was answered
	claiming []bool    // by part: a claim is under way
	lives    []*life   // by part; nil: none
	known    []*node   // by part: its holder in the answer to the last heartbeat
}

// life is a part that a node serves, or is about to.
type life struct {
	n      *node
	part   *part
	p      *Profile // nil: log and store are still read
	out    Output
	epoch  int // of the claim
	held   logstore.Held
	leased time.Time // until when it may speak
	groups []group
	busy   bool // an append is under way
	tick   time.Time
	inbox  []Input
	frozen bool      // it takes nothing any more
	slow   time.Time // nothing goes to the store until then
}

func newNodes(t *testing.T, seed uint64, n, parts int, conf string) *nodes {
	c := configOf(t, `(def boards-per-player 2) (def max-players 30) (def max-moves-per-board 20)
		(def new-players-per-ip-per-min 0) (def inactivity-timeout 20) (def unconfirmed-timeout 15) (def session-timeout 40) (def max-client-sessions 1000) `+conf)
	w := &nodes{world: emptyWorld(t, seed, 3, c), via: map[wamble.Peer]*node{}, open: parts, faults: map[string]int{}}
	w.epochs = make([]int, parts)
	for k := range parts {
		w.parts = append(w.parts, &part{index: k})
	}
	for i := range n {
		v := &node{w: w, name: fmt.Sprint("n", i+1), known: make([]*node, parts)}
		w.all = append(w.all, v)
		v.boot()
	}
	return w
}

// boot starts the process: a standby.
func (n *node) boot() {
	n.boots++
	n.lives, n.claiming = make([]*life, len(n.w.parts)), make([]bool, len(n.w.parts))
	n.since = time.Time{}
	n.later(n.w.upTo(nodeBeat), n.beat)
}

func (l *life) end() {
	if l.lives() {
		l.n.lives[l.part.index] = nil
	}
}

// lives reports whether its node has not ended it.
func (l *life) lives() bool { return l.n.lives[l.part.index] == l }

// fenced reports whether its claim has ended, which the life may not have found out.
func (l *life) fenced() bool { return l.epoch != l.part.epoch }

// later calls do after d, when the process is not paused.
func (n *node) later(d time.Duration, do func()) {
	boots := n.boots
	var wake func() []Input
	wake = func() []Input {
		switch {
		case n.boots != boots:
		case n.asleep():
			n.w.after(n.woken.Sub(n.w.now), false, wake)
		default:
			do()
		}
		return nil
	}
	n.w.after(d, false, wake)
}

// later calls do after d, if the life still runs.
func (l *life) later(d time.Duration, do func()) {
	l.n.later(d, func() {
		if l.lives() {
			do()
		}
	})
}

// every calls do repeatedly, at intervals of up to most.
func (l *life) every(most time.Duration, do func()) {
	l.later(l.n.w.upTo(most), func() {
		l.every(most, do)
		if !l.frozen {
			do()
		}
	})
}

func (n *node) asleep() bool { return n.woken.After(n.w.now) }

func (n *node) cut() bool { return n.mend.After(n.w.now) }

// reaches reports whether the node reaches the store: it is where the log is.
func (n *node) reaches() bool { return !n.cut() && !n.w.store.away }

// ask sends a request to the log and calls do for its answer. Both take their time, and both
// may be lost; then lost is called, when the node gives up.
func (n *node) ask(what string, do func() (answer func()), lost func()) {
	w, boots := n.w, n.boots
	tell := func(d time.Duration, do func()) {
		if n.boots == boots { // else the asking process has ended
			n.later(d, do)
		}
	}
	giveUp := func(why string) {
		w.faults[what+" "+why]++
		tell(nodeLease/2, lost)
	}
	w.after(w.latency(), false, func() []Input { // at the log
		if n.cut() || w.odds(60) {
			giveUp("lost")
			return nil
		}
		answer := do()
		w.after(w.latency(), false, func() []Input {
			if n.cut() || w.odds(60) {
				giveUp("unanswered")
				return nil
			}
			tell(0, answer)
			return nil
		})
		return nil
	})
}

func (w *nodes) odds(n int) bool { return !w.quiet && w.rng.IntN(n) == 0 }

func (w *nodes) latency() time.Duration {
	if w.odds(50) {
		return w.upTo(time.Second)
	}
	return w.upTo(10 * time.Millisecond)
}

// beat sends the node's heartbeat to the log, and takes the holders of all parts from the
// answer.
func (n *node) beat() {
	w, sent, answered := n.w, n.w.now, false
	next := func(d time.Duration) {
		if answered {
			return
		}
		answered = true
		for _, l := range n.lives {
			if l != nil && !l.leased.After(w.now) {
				w.faults["lease over"]++
				l.end()
			}
		}
		n.later(d, n.beat)
	}
	n.ask("beat", func() func() {
		n.seen = w.now
		heard := make([]heard, len(w.parts))
		for k, p := range w.parts {
			heard[k].epoch, heard[k].holder, heard[k].free = p.epoch, p.holder, n.mayClaim(p)
		}
		return func() {
			if n.since.IsZero() {
				n.since = sent
			}
			for k := range heard {
				n.hear(w.parts[k], sent, heard[k])
			}
			next(max(0, nodeBeat-w.now.Sub(sent)))
		}
	}, func() {
		n.since = time.Time{}
		next(nodeBeat / 5)
	})
}

// heard is the answer to a heartbeat for one part.
type heard struct {
	epoch  int
	holder *node
	free   bool
}

// hear takes the log's answer to a heartbeat.
func (n *node) hear(p *part, sent time.Time, h heard) {
	l := n.lives[p.index]
	n.known[p.index] = h.holder
	switch {
	case l != nil && h.epoch == l.epoch:
		if lease := sent.Add(nodeLease); lease.After(l.leased) {
			l.leased = lease
		}
	case l != nil && h.epoch > l.epoch:
		n.w.faults["deposed"]++
		l.end()
	}
	if n.lives[p.index] == nil && h.free && !n.claiming[p.index] {
		n.claim(p)
	}
}

// mayClaim reports whether the log grants a claim now. A part without a holder goes to its
// successor, or to any node if that is nil.
func (n *node) mayClaim(p *part) bool {
	w := n.w
	settled := !n.since.IsZero() && w.now.Sub(n.since) >= nodeLease
	gone := func(n *node) bool { return settled && w.now.Sub(n.seen) >= nodeLease }
	if p.holder == nil {
		return p.successor == nil || p.successor == n || gone(p.successor)
	}
	return p.holder == n || gone(p.holder)
}

// claim ends every earlier holder of a part, and begins an instance.
func (n *node) claim(p *part) {
	w, sent := n.w, n.w.now
	boots, over := n.boots, func() { n.claiming[p.index] = false }
	n.claiming[p.index] = true
	n.ask("claim", func() func() {
		if !n.mayClaim(p) || n.boots != boots {
			return over
		}
		held, err := w.log.Claim(w.t.Context(), fmt.Sprint(p.index), logstore.Holder{})
		if err != nil {
			w.t.Fatal(err)
		}
		w.lives++
		w.epochs[p.index]++
		p.epoch++
		p.holder, p.successor, n.seen = n, nil, w.now
		l := &life{n: n, part: p, held: held, epoch: p.epoch, leased: sent.Add(nodeLease)}
		return func() {
			over()
			n.lives[p.index] = l
			l.begin()
		}
	}, over)
}

// begin makes a profile from log and store.
func (l *life) begin() {
	w, p := l.n.w, l.part
	var tail []journaled
	if err := l.held.Replay(w.t.Context(), func(_ uint64, record []byte) error {
		tail = append(tail, p.journal[len(tail)])
		if !bytes.Equal(record, tail[len(tail)-1].frame) {
			return errors.New("the log has another record")
		}
		return nil
	}); err != nil {
		w.t.Fatal(err)
	}
	l.later(w.upTo(300*time.Millisecond), func() {
		if !l.n.reaches() {
			l.end()
			return
		}
		w.apply(p, tail)
		l.p = New(w.options(p))
		var inputs []Input
		for _, b := range w.store.liveBoardsOf(p.index) {
			inputs = append(inputs, &RestoreBoard{Board: *b, Predictions: w.store.predicted(b.ID)})
			if b.Holder != nil {
				inputs = append(inputs, &RestoreSession{Session: *w.store.session(b.Holder.Session)})
			}
		}
		l.step(append(inputs, &Ready{})...)
		l.work()
	})
}

// options are those of a new profile.
func (w *nodes) options(p *part) Options {
	opts := w.opts
	opts.Now, opts.Shard = w.now, wamble.Shard{Index: p.index, Of: len(w.parts)}
	for i := range opts.Seed {
		opts.Seed[i] = byte(w.rng.Uint32())
	}
	return opts
}

// work begins the background work of an instance.
func (l *life) work() {
	l.every(300*time.Millisecond, l.drain)
	if len(l.n.w.parts) > 1 {
		l.every(300*time.Millisecond, l.arrivals)
		l.every(600*time.Millisecond, l.hearWorld)
	}
}

// apply writes messages of a part that the store lacks to it, from whichever node: its cursor
// moves with them.
func (w *nodes) apply(p *part, messages []journaled) {
	w.store.from = p.index
	for _, m := range messages {
		if m.seq > p.cursor {
			w.write(m)
			p.cursor = m.seq
		}
	}
}

// drain writes some of the log to the store. A life that was fenced may do it, too.
func (l *life) drain() {
	w, p := l.n.w, l.part
	if !l.n.reaches() || l.slow.After(w.now) {
		return
	}
	if w.odds(8) {
		l.slow = w.now.Add(w.upTo(2 * time.Second))
	}
	if rest := p.journal[p.cursor:]; len(rest) > 0 {
		w.apply(p, rest[:1+w.rng.IntN(len(rest))])
	}
	if p.cursor > l.p.watermarks.applied {
		l.step(&Applied{Seq: p.cursor})
	}
}

// take passes an input to the profile, with other pending ones.
func (l *life) take(in Input) {
	if l.inbox = append(l.inbox, in); len(l.inbox) == 1 {
		l.later(l.n.w.upTo(2*time.Millisecond), l.flush)
	}
}

func (l *life) flush() {
	if inputs := l.inbox; len(inputs) > 0 && !l.frozen {
		l.inbox = nil
		l.step(inputs...)
	}
}

// step runs a step of the life, and carries out its outputs. Its packets leave only while the
// lease lasts.
func (l *life) step(inputs ...Input) {
	w := l.n.w
	w.greetedAgain(inputs)
	l.p.Step(w.now, inputs, &l.out)
	if len(l.out.Troubles) > 0 {
		w.t.Fatal(l.out.Troubles[0])
	}
	if !l.fenced() {
		l.part.count = l.p.Count()
		w.checkMemory(l)
	}
	if l.leased.After(w.now) {
		for i := range l.out.Packets.Len() {
			if l.fenced() {
				w.t.Fatalf("%s sends, though its claim to part %d has ended", l.n.name, l.part.index)
			}
			to, packet := l.out.Packets.At(i)
			w.check(to, packet)
			w.answer(l, to, packet)
		}
	} else if l.out.Packets.Len() > 0 {
		w.faults["dropped"]++
	}
	if l.out.Frames.Len() > 0 {
		g := group{index: l.out.DurableIndex}
		for i := range l.out.Frames.Len() {
			g.frames = append(g.frames, bytes.Clone(l.out.Frames.At(i)))
		}
		l.groups = append(l.groups, g)
		l.commit()
	}
	for _, q := range l.out.Loads {
		l.later(w.upTo(50*time.Millisecond), func() {
			answer := w.store.answer(q)
			if l.n.cut() {
				answer = &Loaded{Load: q.ID, Outcome: Away}
			}
			l.take(answer)
		})
	}
	if next := l.out.Next; !next.IsZero() && (l.tick.IsZero() || next.Before(l.tick)) {
		l.tick = next
		l.later(max(0, next.Sub(w.now)), func() {
			if l.tick.Equal(next) {
				l.tick = time.Time{}
			}
			l.take(&Tick{})
		})
	}
	for _, q := range slices.Clone(l.out.Leases) {
		l.lease(q)
	}
}

// lease asks the store for numbers until it grants some.
func (l *life) lease(q Lease) {
	if l.n.w.store.away {
		l.later(100*time.Millisecond, func() { l.lease(q) })
		return
	}
	leased := &Leased{Sequence: q.Sequence, Blocks: l.n.w.store.lease(q)}
	if l.frozen { // while numbers were not to be had; it may have been released since
		l.take(leased)
		return
	}
	l.step(leased)
}

// commit appends the waiting groups, one commit at a time. A commit that fails, or whose
// answer is lost, ends the life.
func (l *life) commit() {
	if l.busy || len(l.groups) == 0 {
		return
	}
	w, groups := l.n.w, l.groups
	l.groups, l.busy = nil, true
	l.n.ask("append", func() func() {
		for _, g := range groups {
			for _, f := range g.frames {
				if _, err := l.held.Append(w.t.Context(), f); errors.Is(err, logstore.ErrFenced) {
					w.faults["append fenced"]++
					return l.end
				} else if err != nil {
					w.t.Fatal(err)
				}
				w.durable(l.part, f)
			}
		}
		seq := uint64(len(l.part.journal))
		return func() {
			if !l.lives() {
				return
			}
			l.busy = false
			durableIndex := uint64(0)
			for _, g := range groups {
				durableIndex = max(durableIndex, g.index)
			}
			l.step(&Durable{Index: durableIndex, Seq: seq})
			if l.lives() {
				l.commit()
			}
		}
	}, l.end)
}

// durable shows the judge a message that the log of a part has.
func (w *nodes) durable(p *part, frame []byte) {
	w.judge.part = p.index
	if err := w.judge.frame(frame); err != nil {
		w.t.Fatalf("the log of part %d breaks a rule: %v", p.index, err)
	}
	p.journal = append(p.journal, journaled{uint64(len(p.journal)) + 1, frame})
	if err := w.judge.pool(); err != nil && len(w.parts) == 1 { // the shards learn late how many boards the others have
		w.t.Fatal(err)
	}
}

// disturb makes something happen to a node, mostly to one that serves.
func (w *nodes) disturb() []Input {
	if w.quiet {
		return nil
	}
	w.after(w.upTo(3*time.Second), false, w.disturb)
	n := w.all[w.rng.IntN(len(w.all))]
	if holder := w.parts[w.rng.IntN(len(w.parts))].holder; holder != nil && w.rng.IntN(3) > 0 {
		n = holder
	}
	until := w.now.Add(w.upTo(5 * time.Second))
	kinds := 4
	if len(w.parts) > 1 {
		kinds = 6
		w.movePart()
	}
	switch w.rng.IntN(kinds) {
	case 0:
		w.faults["crash"]++
		w.countInterrupted(n)
		n.woken = time.Time{}
		n.boot()
	case 1:
		w.faults["sleep"]++
		n.woken = until
	case 2:
		w.faults["cut"]++
		n.mend = until
	case 3: // the machine is stopped, with its network
		w.faults["sleep"]++
		w.faults["cut"]++
		n.woken, n.mend = until, until
	case 4:
		w.replaceAll()
	case 5:
		w.loseStore()
	}
	return nil
}

// run lets time pass.
func (w *nodes) run(until time.Time) {
	for w.events.Len() > 0 && !w.events[0].at.After(until) {
		e := heap.Pop(&w.events).(event)
		w.now = e.at
		for _, in := range e.do() {
			w.deliver(in.(*Packet))
		}
	}
	w.now = until
}

// deliver brings a packet of a player to the nodes. With one part all get it: the network
// decides which of them is reached.
func (w *nodes) deliver(in *Packet) {
	if len(w.parts) > 1 {
		w.reach(in)
		return
	}
	for _, n := range w.all {
		if l := n.lives[0]; l != nil && l.p != nil {
			l.take(in)
		}
	}
}

// TestModelOfNodes lets players play while the nodes that serve them crash, pause and are cut
// off. Every accepted move is in the log once, nothing is sent by an instance whose claim has
// ended, and the versions of boards only rise.
func TestModelOfNodes(t *testing.T) {
	t.Parallel()
	modelNodes(t, prooftest.Sized(400, 2000, 100_000), func(t *testing.T, seed uint64) *nodes {
		return newNodes(t, seed, 3, 1, `(def min-boards 3) (def max-boards 12)`)
	}, "crash", "sleep", "cut", "deposed", "dropped", "lease over", "append fenced", "append lost", "append unanswered",
		"claim lost", "claim unanswered")
}

// modelNodes runs models with different seeds, on all processors; each of the faults must
// occur.
func modelNodes(t *testing.T, seeds int, world func(t *testing.T, seed uint64) *nodes, faults ...string) {
	seed := prooftest.Seed(t)
	var mu sync.Mutex // guards what follows
	total := map[string]int{}
	accepted, lives := 0, 0
	workers := runtime.GOMAXPROCS(0)
	t.Run("worlds", func(t *testing.T) {
		for first := range workers {
			t.Run("", func(t *testing.T) {
				t.Parallel()
				for i := first; i < seeds && !t.Failed(); i += workers {
					w := world(t, seed+uint64(i))
					w.live(seed + uint64(i))
					mu.Lock()
					for fault, n := range w.faults {
						total[fault] += n
					}
					accepted, lives = accepted+w.accepted, lives+w.lives
					mu.Unlock()
				}
			})
		}
	})
	t.Logf("measured: %d worlds, %d lives, %d moves accepted, %v", seeds, lives, accepted, total)
	for _, fault := range faults {
		if total[fault] == 0 && !t.Failed() {
			t.Errorf("too quiet a world: no %s", fault)
		}
	}
}

// live lets players come and play, and checks what is stored in the end.
func (w *nodes) live(seed uint64) {
	const length = 15 * time.Second
	defer func() {
		if w.t.Failed() {
			w.t.Logf("WAMBLE_SEED=%d", seed)
		}
	}()
	w.after(4*time.Second, false, w.disturb)
	for i := range 5 + len(w.parts) {
		w.after(w.upTo(length/3), false, func() []Input { w.arrive(i); return nil })
	}
	w.run(epoch.Add(length))
	w.quiet = true
	for _, n := range w.all { // everybody is there again
		n.woken, n.mend = w.now, w.now
	}
	w.findStore()
	w.open = len(w.parts)
	w.run(w.now.Add(10 * time.Second))
	for began := w.now; len(w.judge.underway) > 0 && w.now.Sub(began) < 10*time.Second; { // what was sent a moment ago
		w.run(w.now.Add(100 * time.Millisecond))
	}
	for _, p := range w.parts {
		w.apply(p, p.journal)
	}
	stored := 0
	for _, b := range w.store.boards {
		stored += len(b.Moves)
	}
	if total := sum(w.judge.moves); stored != total || w.accepted > total {
		w.t.Errorf("%d moves are stored, %d were durable, %d accepted", stored, total, w.accepted)
	}
	for _, p := range w.parts {
		var serving []*life
		for _, n := range w.all {
			if l := n.lives[p.index]; l != nil && l.p != nil && l.p.stage == running && l.leased.After(w.now) &&
				!l.frozen {
				serving = append(serving, l)
			}
		}
		if len(serving) != 1 {
			w.t.Errorf("in the end %d nodes serve the players of part %d", len(serving), p.index)
			continue
		}
		w.checkStored(serving[0])
	}
	w.faults["travelled"] += w.judge.sent
	if w.t.Failed() {
		w.t.FailNow()
	}
}
