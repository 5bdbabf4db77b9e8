package profile

import (
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"wamble"
	"wamble/internal/board"
	"wamble/internal/config"
	"wamble/internal/intent"
	"wamble/internal/journal"
	"wamble/internal/prooftest"
)

// turn is a move of a session of a shard, as its loop would make it.
type turn struct {
	session wamble.SessionID
	choice  uint64
}

func (in *turn) apply(p *Profile, out *Output) {
	if p.boards.Held(in.session) == nil {
		if _, err := p.boards.Assign(p.clock.now, board.Player{Session: in.session}, &p.frame); err != nil {
			return
		}
		p.seal(out)
		if in.choice%3 == 0 {
			return // the player thinks
		}
	}
	b := p.boards.Held(in.session)
	list := b.Position().LegalMoves(nil)
	m := list[in.choice%uint64(len(list))]
	played, err := p.boards.Play(p.clock.now, b.ID(), board.Mover{Session: in.session, Rating: -1}, m.String(),
		&p.frame)
	if err != nil {
		panic(err)
	}
	p.stats.Moves++
	if played.Finished != nil {
		p.finished(played.Finished, out)
	}
	p.seal(out)
}

// travelRow is a board in the store of the model.
type travelRow struct {
	wamble.Board
	shard int
}

// travelShard is one shard of the model with its journal. Messages in groups are not durable,
// those in the journal are, and those after applied are not in the store.
type travelShard struct {
	w       *travelWorld
	index   int
	p       *Profile
	out     Output
	groups  []travelGroup
	journal [][]byte // message n is journal[n-1]
	applied int
	last    uint64 // durable index that is durable
	polled  *Arrive
	walking func() ([]byte, bool)
	stop    func()
	slices  []walkSlice // of the walk that is under way
	walked  []walkSlice // of the last that is whole
}

type travelGroup struct {
	index  uint64
	frames [][]byte
}

type travelWorld struct {
	t        *testing.T
	rng      *rand.Rand
	now      time.Time
	rows     map[wamble.BoardID]*travelRow
	arrivals map[wamble.BoardID]int
	shards   []*travelShard
	next     int64                 // the first unused number
	options  func(*config.Profile) // changes the configuration; may be nil
	traffic  struct{ sent, crashed, resumed, adopted int }
}

// TestTransfer: boards move between four shards that crash, come back from the store or from
// slices and tail, or are handed to another process. At every moment a board is in one memory
// at most, no move is lost or made twice, and in the end every board is where its row says.
func TestTransfer(t *testing.T) {
	t.Parallel()
	seeds := prooftest.Sized(15, 100, 3000)
	sent := 0
	for seed := range uint64(seeds) {
		w := &travelWorld{
			t: t, rng: rand.New(rand.NewPCG(seed, 24)), now: time.Unix(1_800_000_000, 0).UTC(),
			rows: map[wamble.BoardID]*travelRow{}, arrivals: map[wamble.BoardID]int{}, next: 1,
		}
		for k := range 4 {
			s := &travelShard{w: w, index: k}
			w.shards = append(w.shards, s)
			s.begin()
			s.step(&Ready{})
		}
		for range 400 {
			w.happen()
			if t.Failed() {
				t.Fatalf("seed %d", seed)
			}
		}
		w.settle()
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
		sent += w.traffic.sent
	}
	if sent < 20*int(seeds) {
		t.Errorf("only %d boards have travelled in %d worlds", sent, seeds)
	}
}

func (s *travelShard) begin() {
	cfg := config.Defaults().Default
	cfg.Boards.MinBoards, cfg.Boards.MaxBoards, cfg.Boards.MaxMoves = 8, 64, 40
	if s.w.options != nil {
		s.w.options(cfg)
	}
	s.p = New(Options{Config: cfg, Now: s.w.now, Seed: [32]byte{byte(s.index)},
		Shard: wamble.Shard{Index: s.index, Of: 4}, LeaseSize: 64})
	s.groups, s.last, s.polled, s.walking, s.slices = nil, 0, nil, nil, nil
}

func (s *travelShard) step(inputs ...Input) {
	w := s.w
	w.now = w.now.Add(time.Duration(w.rng.IntN(20)) * time.Millisecond)
	s.p.Step(w.now, inputs, &s.out)
	for _, err := range s.out.Troubles {
		w.t.Errorf("shard %d: %v", s.index, err)
	}
	if s.out.Frames.Len() > 0 {
		g := travelGroup{index: s.out.DurableIndex}
		for i := range s.out.Frames.Len() {
			g.frames = append(g.frames, slices.Clone(s.out.Frames.At(i)))
		}
		s.groups = append(s.groups, g)
	}
	for _, l := range slices.Clone(s.out.Leases) {
		first := w.next
		w.next += int64(l.Count)
		w.leased(s, l, first)
	}
	w.check()
}

func (w *travelWorld) leased(s *travelShard, l Lease, first int64) {
	s.step(&Leased{Sequence: l.Sequence, Blocks: []wamble.Block{{First: first, Count: int64(l.Count)}}})
}

// check checks that a board is in one memory at most.
func (w *travelWorld) check() {
	at := map[wamble.BoardID]int{}
	for _, s := range w.shards {
		if s.p == nil {
			continue
		}
		for b := range s.p.boards.All() {
			if other, twice := at[b.ID()]; twice {
				w.t.Fatalf("board %d is in shard %d and in shard %d", b.ID(), other, s.index)
			}
			at[b.ID()] = s.index
		}
	}
}

// happen makes a random event happen in a shard.
func (w *travelWorld) happen() {
	s := w.shards[w.rng.IntN(len(w.shards))]
	switch w.rng.IntN(24) {
	default:
		var turns []Input
		for range 1 + w.rng.IntN(60) {
			turns = append(turns, &turn{wamble.SessionID(1 + s.index*100 + w.rng.IntN(6)), w.rng.Uint64()})
		}
		s.step(turns...)
	case 0, 1, 2, 3:
		s.sync()
	case 4, 5, 6, 7:
		s.drain(1 + w.rng.IntN(50))
	case 8, 9, 10:
		s.poll()
	case 11, 12, 13:
		if s.polled != nil {
			s.step(s.polled)
			if w.rng.IntN(3) > 0 { // else it is delivered twice
				s.polled = nil
			}
		}
	case 14:
		world := &ShardCounts{Open: 1 + w.rng.IntN(4), Shards: make([]ShardCount, 4)}
		if w.rng.IntN(2) == 0 { // some of them on other machines
			world.Opened = 1 + w.rng.Uint64N(15)
		}
		for i := range world.Shards {
			world.Shards[i] = ShardCount{Players: 1 + w.rng.IntN(9), Free: w.rng.IntN(9)}
		}
		s.step(world)
	case 15, 16:
		s.walk()
	case 17:
		switch w.rng.IntN(3) {
		case 0:
			w.traffic.crashed++
			s.crash()
		case 1:
			s.resume()
		default:
			s.handOff()
		}
	}
}

// sync makes the oldest group durable.
func (s *travelShard) sync() {
	if len(s.groups) == 0 {
		return
	}
	g := s.groups[0]
	s.groups = s.groups[1:]
	s.journal = append(s.journal, g.frames...)
	s.step(&Durable{Index: g.index, Seq: uint64(len(s.journal))})
}

// drain applies messages to the store.
func (s *travelShard) drain(n int) {
	for ; n > 0 && s.applied < len(s.journal); n-- {
		intents, err := journal.Decode(s.journal[s.applied])
		if err != nil {
			s.w.t.Fatal(err)
		}
		for _, in := range intents {
			s.w.apply(s, in)
		}
		s.applied++
	}
	if s.p.stage == running {
		s.step(&Applied{Seq: uint64(s.applied)})
	}
}

func (w *travelWorld) apply(s *travelShard, in intent.Intent) {
	row := func(id wamble.BoardID) *travelRow {
		r := w.rows[id]
		if r == nil || r.shard != s.index {
			w.t.Fatalf("shard %d says %+v of a board that is not its own: %+v", s.index, in, r)
		}
		return r
	}
	switch in := in.(type) {
	case *intent.CreateBoard:
		w.rows[in.Board] = &travelRow{wamble.Board{ID: in.Board, FEN: in.FEN, Status: in.Status, Variant: in.Variant,
			Created: in.At}, s.index}
	case *intent.UpdateBoard:
		if r := row(in.Board); in.Version > r.Version {
			r.FEN, r.Status, r.Version = in.FEN, in.Status, in.Version
		} else {
			w.t.Fatalf("board %d has version %d twice", in.Board, in.Version)
		}
	case *intent.UpdateBoardAssignmentTime:
		row(in.Board).LastAssigned = in.At
	case *intent.RecordMove:
		r := row(in.Board)
		if in.Ply != len(r.Moves)+1 {
			w.t.Fatalf("board %d has %d moves, and gets number %d", in.Board, len(r.Moves), in.Ply)
		}
		r.Moves = append(slices.Clone(r.Moves), wamble.Move{Ply: in.Ply, UCI: in.UCI, Session: in.Session, At: in.At})
	case *intent.CreateReservation:
		row(in.Board).Holder = &wamble.Reservation{Board: in.Board, Session: in.Session, At: in.At, Expires: in.Expires}
	case *intent.RemoveReservation:
		row(in.Board).Holder = nil
	case *intent.MoveBoard:
		w.traffic.sent++
		r := row(in.Board)
		if in.Version != r.Version || in.From != s.index {
			w.t.Fatalf("board %d has version %d, and is sent with %+v", in.Board, r.Version, in)
		}
		r.shard = in.To
		w.arrivals[in.Board] = in.To
	case *intent.ArriveBoard:
		if w.arrivals[in.Board] == s.index {
			delete(w.arrivals, in.Board)
		}
	}
}

// poll asks the store for arrivals. The answer comes later.
func (s *travelShard) poll() {
	round, ok := s.p.BeginArrivals()
	if !ok {
		return
	}
	s.polled = &Arrive{Round: round}
	for _, id := range slices.Sorted(maps.Keys(s.w.arrivals)) {
		if to, there := s.w.arrivals[id]; there && to == s.index {
			s.polled.Boards = append(s.polled.Boards, s.w.rows[id].Board)
		}
	}
}

// walk takes the next slice of the memory.
func (s *travelShard) walk() {
	if s.walking == nil {
		s.walking, s.stop = iter.Pull(s.p.Walk(1+s.w.rng.IntN(3000), func() []byte { return nil }))
		s.slices = nil
	}
	mark := len(s.journal)
	for _, g := range s.groups {
		mark += len(g.frames)
	}
	if data, more := s.walking(); more {
		s.slices = append(s.slices, walkSlice{uint64(mark), data})
		return
	}
	s.walked, s.walking, s.slices = s.slices, nil, nil
}

// crash restores the shard from the store, after the journal has been applied.
func (s *travelShard) crash() {
	s.die()
	s.begin()
	for s.applied < len(s.journal) {
		s.drain(100)
	}
	for _, id := range slices.Sorted(maps.Keys(s.w.rows)) {
		if r := s.w.rows[id]; r.shard == s.index && r.Status != wamble.Archived {
			s.step(&RestoreBoard{Board: r.Board})
		}
	}
	s.step(&Ready{})
}

// die drops what is not durable, as a crash does.
func (s *travelShard) die() {
	if s.walking != nil {
		s.stop()
		s.walking, s.slices = nil, nil
	}
	if slices.ContainsFunc(s.walked, func(ws walkSlice) bool { return ws.mark > uint64(len(s.journal)) }) {
		s.walked = nil
	}
}

// resume restores the shard from slices and tail, while the store may be behind.
func (s *travelShard) resume() {
	s.die()
	if len(s.walked) == 0 {
		return
	}
	s.w.traffic.resumed++
	s.begin()
	for _, ws := range s.walked {
		s.step(&ResumeSlice{Mark: ws.mark, Data: ws.data})
	}
	tail := &ResumeTail{}
	for i := s.walked[0].mark; i < uint64(len(s.journal)); i++ {
		tail.Messages = append(tail.Messages, TailMessage{i + 1, s.journal[i]})
	}
	s.step(tail)
	s.step(&ResumeEnd{Last: uint64(len(s.journal)), Alone: true}, &Ready{})
	s.step(&Applied{Seq: uint64(s.applied)})
}

// handOff lets another process adopt the shard's state.
func (s *travelShard) handOff() {
	for len(s.groups) > 0 {
		s.sync()
	}
	state := handedOver(s.w.t, s.p)
	s.w.traffic.adopted++
	if s.walking != nil {
		s.stop()
	}
	s.begin()
	s.step(state...)
}

// TestShareWithNeedy: if no more boards may be made, a shard with hardly any free board gets
// one at once, and no other shard does: boards that went to others would be sent on and on.
func TestShareWithNeedy(t *testing.T) {
	w := &travelWorld{t: t, rng: rand.New(rand.NewPCG(1, 24)), now: time.Unix(1_800_000_000, 0).UTC(), next: 1}
	s := &travelShard{w: w}
	s.begin()
	s.step(&Ready{})
	s.groups = nil
	s.step(&Others{Boards: 64},
		&ShardCounts{Open: 3, Shards: []ShardCount{{}, {Players: 9, Free: 7}, {Free: fewFree - 1}, {}}})
	for range 5 {
		s.step(&Tick{})
	}
	var to []int
	for _, g := range s.groups {
		for _, f := range g.frames {
			intents, err := journal.Decode(f)
			if err != nil {
				t.Fatal(err)
			}
			for _, in := range intents {
				if in, ok := in.(*intent.MoveBoard); ok {
					to = append(to, in.To)
				}
			}
		}
	}
	if !slices.Equal(to, []int{2}) {
		t.Errorf("boards were sent to the shards %v, want one to 2", to)
	}
}

// TestNobodyHoards: a shard whose players make many moves sends boards to an open one without
// players only until that has as many for the players who may come.
func TestNobodyHoards(t *testing.T) {
	w := &travelWorld{t: t, rng: rand.New(rand.NewPCG(1, 24)), now: time.Unix(1_800_000_000, 0).UTC(), next: 1}
	s := &travelShard{w: w}
	s.begin()
	s.step(&Ready{})
	for i := range uint64(100 * sendEvery) {
		if i%8 == 0 {
			s.step(&ShardCounts{Open: 2, Shards: []ShardCount{{}, {Free: int(s.p.stats.Sent)}, {}, {}}})
		}
		s.step(&turn{session: wamble.SessionID(1 + i%4), choice: w.rng.Uint64()})
	}
	sent := int(s.p.stats.Sent)
	if here := s.p.boards.Len(); sent == 0 || sent > 2*here {
		t.Errorf("%d boards were sent to an empty shard, and %d are here", sent, here)
	}
}

// settle lets everything arrive, and compares memory and store.
func (w *travelWorld) settle() {
	world := &ShardCounts{Open: 4}
	for range 4 {
		world.Shards = append(world.Shards, ShardCount{Free: 1000})
	}
	for range 6 {
		for _, s := range w.shards {
			s.p.transfers.moves = s.p.stats.Moves // no shard should send one more board
			s.step(world)
			for len(s.groups) > 0 {
				s.sync()
			}
			s.drain(1 << 20)
			s.poll()
			if s.polled != nil {
				s.step(s.polled)
			}
		}
	}
	for _, s := range w.shards {
		for len(s.groups) > 0 {
			s.sync()
		}
		s.drain(1 << 20)
	}
	if len(w.arrivals) > 0 {
		w.t.Fatalf("%d boards have not arrived", len(w.arrivals))
	}
	for id, r := range w.rows {
		b := w.shards[r.shard].p.boards.Board(id)
		if r.Status == wamble.Archived {
			continue
		}
		if b == nil {
			w.t.Fatalf("board %d is in shard %d, which does not have it", id, r.shard)
		}
		got := fmt.Sprint(b.FEN(), b.Status(), b.Version(), b.Plies())
		if want := fmt.Sprint(r.FEN, r.Status, r.Version, len(r.Moves)); got != want {
			w.t.Fatalf("board %d is %s in memory and %s in the store", id, got, want)
		}
	}
}

// TestFillInParts: of the boards that max-boards still allows, a shard makes only its share
// in one step: the others may fill up at the same moment.
func TestFillInParts(t *testing.T) {
	cfg := config.Defaults().Default
	cfg.Boards.MinBoards, cfg.Boards.MaxBoards = 100, 100
	now := time.Unix(1_800_000_000, 0).UTC()
	p, out := New(Options{Config: cfg, Now: now, Shard: wamble.Shard{Index: 0, Of: 4}, LeaseSize: 200}), Output{}
	p.Step(now, []Input{&Ready{}}, &out)
	p.Step(now, []Input{&Leased{Sequence: wamble.BoardIDs, Blocks: []wamble.Block{{First: 1, Count: 200}}}}, &out)
	if n := p.boards.Len(); n != 25 {
		t.Errorf("%d boards after one step, want 25", n)
	}
	p.Step(now, []Input{&Others{Boards: 71}}, &out)
	if n := p.boards.Len(); n != 26 {
		t.Errorf("%d boards when there is room for four more in the world, want 26", n)
	}
	for range 10 {
		p.Step(now, nil, &out)
	}
	if n := p.boards.Len(); n != 29 {
		t.Errorf("%d boards, want 29, which is as many as there may be", n)
	}
}
