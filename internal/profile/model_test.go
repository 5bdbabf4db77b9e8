package profile

import (
	"bytes"
	"container/heap"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"wamble"
	"wamble/internal/config"
	"wamble/internal/prooftest"
	"wamble/wire"
)

// world is a profile with a slow journal, a slower store that goes away, a bad network,
// crashes, and players who do not always follow the protocol.
type world struct {
	t    *testing.T
	rng  *rand.Rand
	p    *Profile
	out  Output
	now  time.Time
	opts Options
	// members is how many of ten players have an identity.
	members int
	events  events
	order   int

	judge *judge
	store *memory
	// groups are what the journal has not synced yet; queue is what the store
	// does not have yet.
	groups   []group
	queue    []journaled
	seq      uint64
	life     int       // counts the processes
	epochs   []int     // by shard: how often undurable changes were lost
	handed   int       // how many of them took over
	handing  bool      // another one is about to
	troubles int       // so far
	tick     time.Time // the next one; zero: none
	syncs    bool

	clients  map[wamble.Peer]*client
	owners   map[wamble.Token]wamble.Peer
	offers   map[wamble.Token]offer
	arrived  int
	accepted int
	tape     *bytes.Buffer // of this process
	recorder Recorder
	replayed int // steps

	walking  *walk       // under way; nil: none
	walked   []walkSlice // of the last one that was whole
	journal  []journaled // everything that is durable
	resumed  int         // processes that were restored from slices
	compared int         // comparisons of the memory with what would be restored
	audience bool        // clients watch and predict, too
	quiet    bool        // no more faults, and no more moves
}

// offer is SERVER_HELLO with a token that is not durable.
type offer struct {
	epoch   int // of its shard
	board   wamble.BoardID
	packets []string
	again   bool // a copy of the hello came before the token had a session: its answer may be late
}

type group struct {
	index  uint64
	frames [][]byte
}

type event struct {
	at    time.Time
	order int
	life  int // 0: survives a crash
	do    func() []Input
}

type events []event

func (h events) Len() int { return len(h) }
func (h events) Less(i, j int) bool {
	if !h[i].at.Equal(h[j].at) {
		return h[i].at.Before(h[j].at)
	}
	return h[i].order < h[j].order
}
func (h events) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *events) Push(v any)   { *h = append(*h, v.(event)) }
func (h *events) Pop() any {
	old := *h
	v := old[len(old)-1]
	*h = old[:len(old)-1]
	return v
}

// after calls do later; if ofLife is set, only while the process still runs.
func (w *world) after(d time.Duration, ofLife bool, do func() []Input) {
	w.order++
	e := event{at: w.now.Add(d), order: w.order, do: do}
	if ofLife {
		e.life = w.life
	}
	heap.Push(&w.events, e)
}

// epochOf returns how often the shard of a token has lost undurable changes.
func (w *world) epochOf(t wamble.Token) int { return w.epochs[t.Shard(len(w.epochs))] }

func (w *world) upTo(most time.Duration) time.Duration {
	return time.Duration(w.rng.Int64N(int64(most)))
}

func newWorld(t *testing.T, seed uint64, members int, conf string) *world {
	w := emptyWorld(t, seed, members, configOf(t, "(def boards-per-player 2) "+conf))
	w.start()
	return w
}

// emptyWorld is a world without a process.
func emptyWorld(t *testing.T, seed uint64, members int, c *config.Profile) *world {
	return &world{
		t: t, rng: rand.New(rand.NewPCG(seed, 7)), now: epoch, judge: newJudge(c), store: newMemory(), members: members,
		epochs: []int{0}, clients: map[wamble.Peer]*client{}, offers: map[wamble.Token]offer{}, syncs: true,
		opts: Options{Config: c, LeaseSize: 500},
	}
}

// start is a new process: it has the content of journal and store.
func (w *world) start() {
	w.begin()
	w.epochs[0]++
	for _, f := range w.queue {
		w.write(f)
	}
	w.queue = nil
	var inputs []Input
	for _, b := range w.store.liveBoards() {
		inputs = append(inputs, &RestoreBoard{Board: *b, Predictions: w.store.predicted(b.ID)})
		if b.Holder != nil {
			inputs = append(inputs, &RestoreSession{Session: *w.store.session(b.Holder.Session)})
		}
	}
	w.step(append(inputs, &Ready{})...)
}

// begin ends the process before, and makes an empty profile.
func (w *world) begin() {
	w.replay()
	w.life++
	w.groups, w.tick, w.walking = nil, time.Time{}, nil
	w.store.away = false
	for i := range w.opts.Seed {
		w.opts.Seed[i] = byte(w.rng.Uint32())
	}
	w.opts.Now = w.now
	w.p = New(w.opts)
	w.tape = &bytes.Buffer{}
	var err error
	if w.recorder, err = Tape.NewRecorder(w.tape, w.opts); err != nil {
		w.t.Fatal(err)
	}
}

// handOver is a new process that adopts the state of the old one.
func (w *world) handOver() {
	w.syncs = true
	for len(w.groups) > 0 {
		w.step(w.sync()...)
	}
	state, old := handedOver(w.t, w.p), w.p
	w.begin()
	w.handed++
	w.step(state...)
	w.sameState(state, old)
	w.after(0, true, w.drain)
}

// replay runs the recording of the process that has ended.
func (w *world) replay() {
	if w.tape == nil {
		return
	}
	n, first, err := Tape.Replay(w.tape)
	if first != "" || err != nil {
		w.t.Fatalf("life %d: %v, %v", w.life, first, err)
	}
	w.replayed += n
}

func (w *world) write(f journaled) {
	r := rig{t: w.t, store: w.store, frames: []journaled{f}}
	r.apply()
}

// step runs a step, and checks and carries out its outputs.
func (w *world) step(inputs ...Input) {
	before := w.p.Stats()
	w.greetedAgain(inputs)
	w.p.Step(w.now, inputs, &w.out)
	if err := w.recorder.Step(w.now, inputs, &w.out); err != nil {
		w.t.Fatal(err)
	}
	if after := w.p.Stats(); len(inputs) == 1 && after.NoBoard > before.NoBoard && w.p.boards.Free() > 0 {
		w.t.Fatalf("a player waits while %d boards are free", w.p.boards.Free())
	}
	if len(w.out.Troubles) > 0 {
		w.t.Fatal(w.out.Troubles[0])
	}
	for i := range w.out.Packets.Len() {
		w.check(w.out.Packets.At(i))
		w.carry(w.out.Packets.At(i))
	}
	if w.out.Frames.Len() > 0 {
		g := group{index: w.out.DurableIndex}
		for i := range w.out.Frames.Len() {
			g.frames = append(g.frames, bytes.Clone(w.out.Frames.At(i)))
		}
		w.groups = append(w.groups, g)
		w.after(w.upTo(20*time.Millisecond), true, w.sync)
	}
	for _, l := range w.out.Loads {
		w.after(w.upTo(50*time.Millisecond), true, func() []Input { return []Input{w.store.answer(l)} })
	}
	if next := w.out.Next; !next.IsZero() && (w.tick.IsZero() || next.Before(w.tick)) {
		w.tick = next
		w.after(max(0, next.Sub(w.now)), true, func() []Input {
			if w.tick.Equal(next) {
				w.tick = time.Time{}
			}
			return []Input{&Tick{}}
		})
	}
	var leases []Input
	for _, l := range w.out.Leases {
		leases = append(leases, &Leased{Sequence: l.Sequence, Blocks: w.store.lease(l)})
	}
	if leases != nil {
		w.step(leases...)
	}
}

// sync makes the oldest group durable: the judge sees it.
func (w *world) sync() []Input {
	if !w.syncs || len(w.groups) == 0 {
		return nil
	}
	g := w.groups[0]
	w.groups = w.groups[1:]
	for _, f := range g.frames {
		if err := w.judge.frame(f); err != nil {
			w.t.Fatalf("the journal breaks a rule: %v", err)
		}
		w.seq++
		w.queue = append(w.queue, journaled{w.seq, f})
		w.journal = append(w.journal, journaled{w.seq, f})
	}
	if err := w.judge.pool(); err != nil {
		w.t.Fatal(err)
	}
	w.after(w.upTo(300*time.Millisecond), true, w.drain)
	if g.index == 0 {
		return nil
	}
	return []Input{&Durable{Index: g.index, Seq: w.seq}}
}

// drain brings some messages to the store.
func (w *world) drain() []Input {
	if w.store.away || len(w.queue) == 0 {
		return nil
	}
	n := 1 + w.rng.IntN(len(w.queue))
	for _, f := range w.queue[:n] {
		w.write(f)
	}
	through := w.queue[n-1].seq
	w.queue = w.queue[n:]
	return []Input{&Applied{Seq: through}}
}

// greetedAgain looks for copies of hellos that have an offer already. If it is accepted in the
// step in which they come, they are answered when that is durable.
func (w *world) greetedAgain(inputs []Input) {
	for _, in := range inputs {
		in, ok := in.(*Packet)
		if !ok {
			continue
		}
		h, err := wire.Peek(in.Data)
		c := w.clients[in.Peer]
		if err != nil || h.Ctrl != wire.CtrlClientHello || !h.Token.IsZero() || c == nil ||
			w.judge.tokens[c.token.Hash()] != 0 {
			continue
		}
		if o, ok := w.offers[c.token]; ok {
			o.again = true
			w.offers[c.token] = o
		}
	}
}

// check checks a packet that leaves: it may show only what is durable.
func (w *world) check(to wamble.Peer, b []byte) {
	var p wire.Packet
	if err := p.Decode(b); err != nil {
		w.t.Fatal(err)
	}
	w.checkSecrets(to, &p, b)
	if p.Ctrl == wire.CtrlSpectateUpdate || p.Ctrl == wire.CtrlPredictionData {
		w.checkBeside(to, &p)
	}
	if p.Ctrl != wire.CtrlServerHello && p.Ctrl != wire.CtrlBoardUpdate {
		return
	}
	id := w.judge.tokens[p.Token.Hash()]
	if p.Ctrl == wire.CtrlServerHello {
		o := w.offers[p.Token]
		// A copy of a hello gets the offer again, with a number of its own: each of them is
		// repeated until its ACK comes, also when the other one was accepted meanwhile.
		known := slices.Contains(o.packets, string(b))
		if !known && (id == 0 || o.again && o.board == p.Board) {
			known, o.board, o.packets = true, p.Board, append(o.packets, string(b))
		}
		if id == 0 || known {
			o.epoch = w.epochOf(p.Token)
			w.offers[p.Token] = o
			return
		}
	}
	if id == 0 {
		w.t.Fatalf("%v shows a token that is not durable", p.Ctrl)
	}
	version, ok := p.Ext.Int(wire.KeyBoardVersion)
	if !ok {
		return
	}
	shown, ok := w.judge.shown[shownKey{p.Board, uint64(version)}]
	fen, _ := p.Ext.Text(wire.KeyBoardFEN)
	if !ok && p.Ctrl == wire.CtrlBoardUpdate && w.judge.made(p.Board, id, uint64(version), string(fen)) {
		return
	}
	if !ok || shown.holder != id || shown.fen != fen {
		w.t.Fatalf("%v shows board %d version %d to session %d; durable is %+v", p.Ctrl, p.Board, version, id, shown)
	}
}

// checkSecrets: no session sees another's token, neither as its own nor within
// what it is shown.
func (w *world) checkSecrets(to wamble.Peer, p *wire.Packet, b []byte) {
	if w.owners == nil {
		w.owners = map[wamble.Token]wamble.Peer{}
	}
	if id := w.judge.tokens[p.Token.Hash()]; id != 0 && p.Ctrl != wire.CtrlAck {
		if owner, known := w.owners[p.Token]; known && owner != to {
			w.t.Fatalf("%v shows the token of %v to %v", p.Ctrl, owner, to)
		}
		w.owners[p.Token] = to
	}
	if p.Ctrl == wire.CtrlBoardUpdate || p.Ctrl == wire.CtrlServerHello || p.Ctrl == wire.CtrlAck {
		return // it has space for the header only
	}
	for at := wire.HeaderSize; at+16 <= len(b); at++ {
		if _, known := w.owners[wamble.Token(b[at:at+16])]; known && wamble.Token(b[at:at+16]) != p.Token {
			w.t.Fatalf("%v has somebody's token in it", p.Ctrl)
		}
	}
}

// carry delivers a packet to a client, or loses it, or delivers it twice.
func (w *world) carry(to wamble.Peer, b []byte) {
	c := w.clients[to]
	b = bytes.Clone(b)
	for range w.copies() {
		w.after(w.transit(), false, func() []Input { c.receive(b); return nil })
	}
}

func (w *world) copies() int {
	if w.quiet {
		return 1
	}
	return [...]int{0, 1, 1, 1, 1, 1, 1, 1, 1, 2}[w.rng.IntN(10)]
}

// transit returns how long a packet travels: when the model is quiet none overtakes another.
func (w *world) transit() time.Duration {
	if w.quiet {
		return 10 * time.Millisecond
	}
	if w.rng.IntN(50) == 0 {
		return w.upTo(3 * time.Second)
	}
	return time.Millisecond + w.upTo(20*time.Millisecond)
}

// disturb injects a fault, now and then.
func (w *world) disturb() []Input {
	w.after(2*time.Second+w.upTo(8*time.Second), false, w.disturb)
	if w.quiet {
		return nil
	}
	kind := w.rng.IntN(5)
	if w.troubles < 5 { // each at least once
		kind = 4 - w.troubles
	}
	w.troubles++
	switch kind {
	case 4: // another process takes over, after this step
		w.handing = true
	case 0: // the journal hangs
		w.syncs = false
		w.after(w.upTo(3*time.Second), false, func() []Input {
			w.syncs = true
			var inputs []Input
			for len(w.groups) > 0 {
				inputs = append(inputs, w.sync()...)
			}
			return inputs
		})
	case 1: // the store goes away
		w.store.away = true
		w.after(w.upTo(10*time.Second), true, func() []Input {
			w.store.away = false
			w.after(0, true, w.drain)
			return []Input{&StoreBack{}}
		})
		return []Input{&StoreAway{}}
	case 2:
		w.crash()
	}
	return nil
}

// crash ends the process: what is not durable is lost.
func (w *world) crash() []Input {
	w.syncs = true
	if w.rng.IntN(4) == 0 || !w.resume() {
		w.start()
	}
	return nil
}

// run lets time pass.
func (w *world) run(until time.Time) {
	for w.events.Len() > 0 && !w.events[0].at.After(until) {
		var inputs []Input
		batch := 1
		if w.rng.IntN(2) == 0 {
			batch = 1 + w.rng.IntN(32)
		}
		life := w.life
		for ; batch > 0 && w.events.Len() > 0 && !w.events[0].at.After(until); batch-- {
			if len(inputs) > 0 && w.events[0].at.Sub(w.now) > time.Millisecond {
				break
			}
			e := heap.Pop(&w.events).(event)
			w.now = e.at
			if e.life != 0 && e.life != w.life {
				continue
			}
			inputs = append(inputs, e.do()...)
			if w.life != life { // what came before the crash is lost
				inputs = nil
				break
			}
		}
		if len(inputs) > 0 {
			w.step(inputs...)
		}
		if w.handing && w.life == life {
			w.handOver()
		}
		w.handing = false
	}
	w.now = until
}

// TestModel lets hundreds of players play under faults, and compares everything that becomes
// durable and everything that is sent with a simple reference. Every process is replayed when
// it ends.
func TestModel(t *testing.T) {
	t.Parallel()
	// Players stay once they have come: the cost of a run grows with the square of its
	// length.
	worlds := prooftest.Sized(1, 2, 4)
	players := prooftest.Sized(400, 1200, 6000)
	length := prooftest.Sized(30*time.Second, time.Minute, 5*time.Minute)
	seed := prooftest.Seed(t)
	for i := range worlds {
		modelWorld(t, seed+uint64(i), players, length)
	}
}

func modelWorld(t *testing.T, seed uint64, players int, length time.Duration) {
	w := newWorld(t, seed, 4, `(def min-boards 8) (def max-boards 120) (def max-players 400) (def max-moves-per-board 30)
		(def new-players-per-ip-per-min 0) (def inactivity-timeout 8) (def unconfirmed-timeout 5) (def session-timeout 30)
		(def max-client-sessions 100000)`)
	w.live(players, length)
	if w.life < 2 {
		t.Errorf("too quiet a world: %d lives", w.life)
	}
}

// TestModelOfMembers runs a model in which every player has an identity and a rating, and
// games are short: the winners' gain is the losers' loss.
func TestModelOfMembers(t *testing.T) {
	t.Parallel()
	players, length := prooftest.Sized(150, 300, 6000), prooftest.Sized(20*time.Second, 30*time.Second, 10*time.Minute)
	w := newWorld(t, prooftest.Seed(t), 10, `(def min-boards 3) (def max-boards 40) (def max-players 40) (def max-moves-per-board 12) (def max-contributors 8)
		(def new-players-per-ip-per-min 0) (def inactivity-timeout 8) (def session-timeout 6) (def max-client-sessions 100000)
		(def keep-shown-moves 1)`)
	w.live(players, length)
	total := 0.0
	for _, p := range w.store.players {
		total += p.Stats.Rating - w.judge.began[p.Key]
	}
	if math.Abs(total) > 1e-6 {
		t.Errorf("all ratings together changed by %v, want 0", total)
	}
	if w.judge.rated == 0 {
		t.Error("too quiet a world: nobody was rated")
	}
}

// live lets players come and play, and checks what is stored in the end.
func (w *world) live(players int, length time.Duration) {
	t := w.t
	w.after(time.Second, false, w.disturb)
	w.after(time.Millisecond, false, w.walk)
	w.after(length/2, false, w.crash) // at least one crash with every seed
	for i := range players {
		w.after(w.upTo(length), false, func() []Input { w.arrive(i); return nil })
	}
	w.run(epoch.Add(length))

	// Quiet: the backlog becomes durable, and reaches the store.
	w.syncs, w.store.away = true, false
	for len(w.groups) > 0 {
		w.step(w.sync()...)
	}
	for len(w.queue) > 0 {
		w.drain()
	}
	stored, paid := 0, 0.0
	for _, b := range w.store.boards {
		stored += len(b.Moves)
	}
	for _, s := range w.store.sessions {
		paid += s.Stats.Score
	}
	if total := sum(w.judge.moves); stored != total || w.accepted > total || w.accepted == 0 {
		t.Errorf("%d moves are stored, %d were durable, %d accepted", stored, total, w.accepted)
	}
	if most := w.judge.pot * float64(w.judge.ended); paid > most+1e-6 || math.Abs(paid-w.judge.paid) > 1e-6 ||
		paid == 0 {
		t.Errorf("%d games paid %v, stored are %v", w.judge.ended, w.judge.paid, paid)
	}
	if w.life-w.handed < 2 || w.handed == 0 || w.judge.ended == 0 || w.compared == 0 {
		t.Errorf("too quiet a world: %d lives, %d handed over, %d games ended, memory compared %d times", w.life,
			w.handed, w.judge.ended, w.compared)
	}
	t.Logf("%d players, %d lives, %d of them resumed, %d of them handed over, %d times memory compared, %d moves accepted, %d stored, %d games ended, %.4f points paid, %d changes of ratings",
		w.arrived, w.life, w.resumed, w.handed, w.compared, w.accepted, stored, w.judge.ended, paid, w.judge.rated)
	w.replay()
	t.Logf("%d steps replayed", w.replayed)
}

func sum(moves map[moveKey]int) int {
	n := 0
	for _, k := range moves {
		n += k
	}
	return n
}
