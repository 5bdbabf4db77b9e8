package profile

import (
	"bytes"
	"container/heap"
	"errors"
	"fmt"
	"testing"
	"time"

	"wamble/internal/prooftest"
	"wamble/runner/logstore"
	"wamble/runner/logstore/logtest"
)

// nodes is a world in which several nodes share a log: one of them holds it and runs
// the profile, the others wait until it is not heard any more. Nodes crash, sleep and
// are cut off; what they ask of the log is late, lost, or done without an answer.
//
//	beat ──▶ heard, or: nobody is heard for a lease ──▶ claim ──▶ life
//	life ──▶ append ──▶ done, refused (another has claimed) or unknown: the life ends
type nodes struct {
	*world
	all    []*node
	log    logtest.Memory
	epoch  int // of the last claim
	holder *node
	cursor uint64 // the last message that the store has
	faults map[string]int
}

const (
	nodeLease = 2 * time.Second
	nodeBeat  = 500 * time.Millisecond
)

// node is one of them.
type node struct {
	w     *nodes
	name  string
	woken time.Time // it sleeps until then
	mend  time.Time // it is cut from the log until then
	boots int       // what was under way in an earlier one is forgotten
	seen  time.Time // when the log heard its last beat
	since time.Time // since when every beat was answered
	// claiming says that a claim is under way.
	claiming bool

	// The life, if p is there or comes.
	p      *Profile
	out    Output
	life   int // of the world; 0: none
	epoch  int // of its claim
	held   logstore.Held
	leased time.Time // until when it may speak
	groups []group
	busy   bool // an append is under way
	tick   time.Time
}

func newNodes(t *testing.T, seed uint64, n int) *nodes {
	c := configOf(t, `(def boards-per-player 2) (def min-boards 3) (def max-boards 12) (def max-players 30) (def max-moves-per-board 20)
		(def new-players-per-ip-per-min 0) (def inactivity-timeout 20) (def unconfirmed-timeout 15) (def session-timeout 40) (def max-client-sessions 1000)`)
	w := &nodes{world: emptyWorld(t, seed, 3, c), faults: map[string]int{}}
	for i := range n {
		v := &node{w: w, name: fmt.Sprint("n", i+1)}
		w.all = append(w.all, v)
		v.boot()
	}
	return w
}

// boot starts the process: a standby.
func (n *node) boot() {
	n.boots++
	n.endLife()
	n.since, n.claiming = time.Time{}, false
	n.later(n.w.upTo(nodeBeat), n.beat)
}

func (n *node) endLife() {
	n.p, n.life, n.held, n.groups, n.busy, n.tick = nil, 0, nil, nil, false, time.Time{}
}

// later lets the process do something, when it is awake.
func (n *node) later(d time.Duration, do func()) {
	boots := n.boots
	var wake func() []Input
	wake = func() []Input {
		switch {
		case n.boots != boots:
		case n.woken.After(n.w.now):
			n.w.after(n.woken.Sub(n.w.now), false, wake)
		default:
			do()
		}
		return nil
	}
	n.w.after(d, false, wake)
}

// inLife is later for what belongs to the life.
func (n *node) inLife(d time.Duration, do func()) {
	life := n.life
	n.later(d, func() {
		if n.life == life {
			do()
		}
	})
}

func (n *node) cut() bool { return n.mend.After(n.w.now) }

// ask sends something to the log and lets it be answered. Both take their time, and
// both may be lost; then lost is called, when the node gives up.
func (n *node) ask(what string, do func() (answer func()), lost func()) {
	w, boots := n.w, n.boots
	tell := func(d time.Duration, do func()) {
		if n.boots == boots { // else whoever asked is dead
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

// beat tells the log that the node lives, and hears who holds it.
func (n *node) beat() {
	w, sent, answered := n.w, n.w.now, false
	next := func(d time.Duration) {
		if answered {
			return
		}
		answered = true
		if n.life != 0 && !n.leased.After(w.now) {
			w.faults["lease over"]++
			n.endLife()
		}
		n.later(d, n.beat)
	}
	n.ask("beat", func() func() {
		n.seen = w.now
		epoch, free := w.epoch, n.mayClaim()
		return func() {
			if n.since.IsZero() {
				n.since = sent
			}
			switch {
			case n.life != 0 && epoch == n.epoch:
				if lease := sent.Add(nodeLease); lease.After(n.leased) {
					n.leased = lease
				}
			case n.life != 0 && epoch > n.epoch:
				w.faults["deposed"]++
				n.endLife()
			}
			if n.life == 0 && free && !n.claiming {
				n.claim()
			}
			next(max(0, nodeBeat-w.now.Sub(sent)))
		}
	}, func() {
		n.since = time.Time{}
		next(nodeBeat / 5)
	})
}

// mayClaim is what the log says to a claim now.
func (n *node) mayClaim() bool {
	w := n.w
	settled := !n.since.IsZero() && w.now.Sub(n.since) >= nodeLease
	return w.holder == nil || w.holder == n || settled && w.now.Sub(w.holder.seen) >= nodeLease
}

// claim ends every earlier holder, and begins a life.
func (n *node) claim() {
	w, sent := n.w, n.w.now
	boots, over := n.boots, func() { n.claiming = false }
	n.claiming = true
	n.ask("claim", func() func() {
		if !n.mayClaim() || n.boots != boots {
			return over
		}
		held, err := w.log.Claim(w.t.Context(), "main", logstore.Holder{})
		if err != nil {
			w.t.Fatal(err)
		}
		w.epoch++
		w.life++
		w.holder, n.seen = n, w.now
		epoch, life := w.epoch, w.life
		return func() {
			over()
			n.begin(held, epoch, life, sent)
		}
	}, over)
}

// begin makes a profile of what log and store have.
func (n *node) begin(held logstore.Held, epoch, life int, sent time.Time) {
	w := n.w
	n.endLife()
	n.held, n.epoch, n.life, n.leased = held, epoch, life, sent.Add(nodeLease)
	var tail []journaled
	if err := held.Replay(w.t.Context(), func(_ uint64, record []byte) error {
		tail = append(tail, w.journal[len(tail)])
		if !bytes.Equal(record, tail[len(tail)-1].frame) {
			return errors.New("the log has another record")
		}
		return nil
	}); err != nil {
		w.t.Fatal(err)
	}
	n.inLife(w.upTo(300*time.Millisecond), func() {
		if n.cut() { // the store is where the log is
			n.endLife()
			return
		}
		w.apply(tail)
		opts := w.opts
		opts.Now = w.now
		for i := range opts.Seed {
			opts.Seed[i] = byte(w.rng.Uint32())
		}
		n.p = New(opts)
		var inputs []Input
		for _, b := range w.store.liveBoards() {
			inputs = append(inputs, &RestoreBoard{Board: *b, Predictions: w.store.predicted(b.ID)})
			if b.Holder != nil {
				inputs = append(inputs, &RestoreSession{Session: *w.store.session(b.Holder.Session)})
			}
		}
		n.step(append(inputs, &Ready{})...)
		n.inLife(w.upTo(300*time.Millisecond), n.drain)
	})
}

// apply brings messages to the store that it does not have: its cursor moves with them,
// whoever brings them.
func (w *nodes) apply(messages []journaled) {
	for _, m := range messages {
		if m.seq > w.cursor {
			w.write(m)
			w.cursor = m.seq
		}
	}
}

// drain brings some of the log to the store. A life that was fenced may do it, too.
func (n *node) drain() {
	w := n.w
	n.inLife(w.upTo(300*time.Millisecond), n.drain)
	rest := w.journal[w.cursor:]
	if n.cut() || len(rest) == 0 {
		return
	}
	w.apply(rest[:1+w.rng.IntN(len(rest))])
	n.step(&Applied{Seq: w.cursor})
}

// step runs a step of the life, and carries out what it wants. What it sends leaves
// only while the lease lasts.
func (n *node) step(inputs ...Input) {
	w := n.w
	n.p.Step(w.now, inputs, &n.out)
	if len(n.out.Troubles) > 0 {
		w.t.Fatal(n.out.Troubles[0])
	}
	if n.leased.After(w.now) {
		for i := range n.out.Packets.Len() {
			if n.epoch != w.epoch {
				w.t.Fatalf("%s sends, though its claim has ended", n.name)
			}
			w.check(n.out.Packets.At(i))
			w.carry(n.out.Packets.At(i))
		}
	} else if n.out.Packets.Len() > 0 {
		w.faults["dropped"]++
	}
	if n.out.Frames.Len() > 0 {
		g := group{gate: n.out.Gate}
		for i := range n.out.Frames.Len() {
			g.frames = append(g.frames, bytes.Clone(n.out.Frames.At(i)))
		}
		n.groups = append(n.groups, g)
		n.commit()
	}
	for _, l := range n.out.Loads {
		n.inLife(w.upTo(50*time.Millisecond), func() {
			answer := w.store.answer(l)
			if n.cut() {
				answer = &Loaded{Load: l.ID, Outcome: Away}
			}
			n.step(answer)
		})
	}
	if next := n.out.Next; !next.IsZero() && (n.tick.IsZero() || next.Before(n.tick)) {
		n.tick = next
		n.inLife(max(0, next.Sub(w.now)), func() {
			if n.tick.Equal(next) {
				n.tick = time.Time{}
			}
			n.step(&Tick{})
		})
	}
	var leases []Input
	for _, l := range n.out.Leases {
		leases = append(leases, &Leased{Sequence: l.Sequence, Blocks: w.store.lease(l)})
	}
	if leases != nil {
		n.step(leases...)
	}
}

// commit appends the groups that wait, one commit at a time. A commit without a good
// answer ends the life.
func (n *node) commit() {
	if n.busy || len(n.groups) == 0 {
		return
	}
	w, groups, held := n.w, n.groups, n.held
	n.groups, n.busy = nil, true
	life := n.life
	fail := func() {
		if n.life == life {
			n.endLife()
		}
	}
	n.ask("append", func() func() {
		for _, g := range groups {
			for _, f := range g.frames {
				if _, err := held.Append(w.t.Context(), f); errors.Is(err, logstore.ErrFenced) {
					w.faults["append fenced"]++
					return fail
				} else if err != nil {
					w.t.Fatal(err)
				}
				w.durable(f)
			}
		}
		seq := w.seq
		return func() {
			if n.life != life {
				return
			}
			n.busy = false
			last := groups[len(groups)-1]
			for _, g := range groups {
				last.gate = max(last.gate, g.gate)
			}
			n.step(&Durable{Gate: last.gate, Seq: seq})
			if n.life == life {
				n.commit()
			}
		}
	}, fail)
}

// durable shows the judge a message that the log has.
func (w *nodes) durable(frame []byte) {
	if err := w.judge.frame(frame); err != nil {
		w.t.Fatalf("the log breaks a rule: %v", err)
	}
	w.seq++
	w.journal = append(w.journal, journaled{w.seq, frame})
	if err := w.judge.pool(); err != nil {
		w.t.Fatal(err)
	}
}

// disturb lets something happen to a node, mostly to the one that serves.
func (w *nodes) disturb() []Input {
	if w.quiet {
		return nil
	}
	w.after(w.upTo(3*time.Second), false, w.disturb)
	n := w.all[w.rng.IntN(len(w.all))]
	if w.holder != nil && w.rng.IntN(3) > 0 {
		n = w.holder
	}
	until := w.now.Add(w.upTo(5 * time.Second))
	switch w.rng.IntN(4) {
	case 0:
		w.faults["crash"]++
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
	}
	return nil
}

// run lets time pass. Every node is sent what players send: it is the network's matter
// which of them gets it.
func (w *nodes) run(until time.Time) {
	for w.events.Len() > 0 && !w.events[0].at.After(until) {
		var inputs []Input
		for batch := 1 + w.rng.IntN(4); batch > 0 && w.events.Len() > 0 && !w.events[0].at.After(until); batch-- {
			if len(inputs) > 0 && w.events[0].at.Sub(w.now) > time.Millisecond {
				break
			}
			e := heap.Pop(&w.events).(event)
			w.now = e.at
			inputs = append(inputs, e.do()...)
		}
		if len(inputs) == 0 {
			continue
		}
		for _, n := range w.all {
			if n.p != nil {
				n.inLife(0, func() { n.step(inputs...) })
			}
		}
	}
	w.now = until
}

// TestModelOfNodes lets players play while the nodes that serve them die, sleep and are
// cut off. Whatever happens every accepted move is in the log once, nothing is sent by
// a life whose claim has ended, and the versions of boards only rise.
func TestModelOfNodes(t *testing.T) {
	total := map[string]int{}
	accepted, lives := 0, 0
	seeds := prooftest.Sized(400, 100_000)
	seed := prooftest.Seed(t)
	for i := range seeds {
		w := newNodes(t, seed+uint64(i), 3)
		w.live()
		if t.Failed() {
			t.Fatalf("WAMBLE_SEED=%d", seed+uint64(i))
		}
		for fault, n := range w.faults {
			total[fault] += n
		}
		accepted, lives = accepted+w.accepted, lives+w.life
	}
	t.Logf("measured: %d worlds, %d lives, %d moves accepted, %v", seeds, lives, accepted, total)
	for _, fault := range []string{"crash", "sleep", "cut", "deposed", "dropped", "lease over", "append fenced", "append lost", "append unanswered", "claim lost", "claim unanswered"} {
		if total[fault] == 0 {
			t.Errorf("too quiet a world: no %s", fault)
		}
	}
}

// live lets players come and play, and looks at what is stored in the end.
func (w *nodes) live() {
	const length = 15 * time.Second
	w.after(4*time.Second, false, w.disturb)
	for i := range 6 {
		w.after(w.upTo(length/3), false, func() []Input { w.arrive(i); return nil })
	}
	w.run(epoch.Add(length))
	w.quiet = true
	for _, n := range w.all { // everybody is there again
		n.woken, n.mend = w.now, w.now
	}
	w.run(w.now.Add(10 * time.Second))
	w.apply(w.journal)
	stored := 0
	for _, b := range w.store.boards {
		stored += len(b.Moves)
	}
	if total := sum(w.judge.moves); stored != total || w.accepted > total {
		w.t.Errorf("%d moves are stored, %d were durable, %d accepted", stored, total, w.accepted)
	}
	serving := 0
	for _, n := range w.all {
		if n.p != nil && n.p.stage == running && n.leased.After(w.now) {
			serving++
		}
	}
	if serving != 1 {
		w.t.Errorf("in the end %d nodes serve players", serving)
	}
}
