package profile

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"
	"time"

	"wamble"
	"wamble/internal/board"
	"wamble/internal/pack"
	"wamble/internal/predict"
)

// walk is a Walk of a profile, slice by slice between its steps.
type walk struct {
	next   func() ([]byte, bool)
	stop   func()
	slices []walkSlice
}

type walkSlice struct {
	mark uint64
	data []byte
}

// walk takes the next slice, or begins anew.
func (w *world) walk() []Input {
	w.after(w.upTo(40*time.Millisecond), false, w.walk)
	if w.p.stage != running {
		return nil
	}
	if w.walking == nil {
		w.walking = &walk{}
		w.walking.next, w.walking.stop = iter.Pull(w.p.Walk(1+w.rng.IntN(4000), func() []byte { return nil }))
	}
	data, more := w.walking.next()
	if !more {
		w.walked, w.walking = w.walking.slices, nil
		w.compareMemory()
		return nil
	}
	// The journal will number the groups that are not synced yet.
	mark := w.seq
	for _, g := range w.groups {
		mark += uint64(len(g.frames))
	}
	w.walking.slices = append(w.walking.slices, walkSlice{mark, data})
	return nil
}

// restoring yields what a new process is given of the last walk and of the journal.
func (w *world) restoring() iter.Seq[Input] {
	return func(yield func(Input) bool) {
		for _, s := range w.walked {
			if !yield(&ResumeSlice{Mark: s.mark, Data: s.data}) {
				return
			}
		}
		tail := &ResumeTail{}
		for _, m := range w.journal {
			if m.seq > w.walked[0].mark {
				tail.Messages = append(tail.Messages, TailMessage{m.seq, m.frame})
			}
		}
		_ = yield(tail) && yield(&ResumeEnd{Last: w.seq, Alone: true})
	}
}

// compareMemory compares the memory of the process with what another one would restore of the
// walk that has ended and of the messages since, if everything is durable.
func (w *world) compareMemory() {
	if len(w.groups) > 0 || w.p.stage != running {
		return
	}
	w.compared++
	p, out := New(w.opts), Output{}
	for in := range w.restoring() {
		p.Step(w.now, []Input{in}, &out)
		if len(out.Troubles) > 0 {
			w.t.Fatal(out.Troubles)
		}
	}
	w.sameMemory(p, w.p)
}

// resume is a new process that has the slices of an old one and the journal, while the store
// may be behind. It reports false without slices, or if some have what is not durable.
func (w *world) resume() bool {
	if len(w.walked) == 0 {
		return false
	}
	for _, s := range w.walked {
		if s.mark > w.seq {
			return false
		}
	}
	away, old, whole := w.store.away, w.p, len(w.groups) == 0 && w.p.stage == running
	w.begin()
	w.epochs[0]++
	w.resumed++
	for in := range w.restoring() {
		w.step(in)
	}
	w.step(&Ready{})
	if whole {
		w.sameMemory(w.p, old)
	}
	if w.store.away = away; away {
		w.after(w.upTo(5*time.Second), true, func() []Input {
			w.store.away = false
			w.after(0, true, w.drain)
			return []Input{&StoreBack{}}
		})
		w.step(&StoreAway{})
	}
	w.after(w.upTo(300*time.Millisecond), true, w.drain)
	if len(w.queue) == 0 {
		w.step(&Applied{Seq: w.seq})
	}
	return true
}

// sameMemory compares the restored memory with that of a process for which everything was
// durable.
func (w *world) sameMemory(p, old *Profile) {
	w.t.Helper()
	late := func(b *board.Board) bool { // it was given back at the start, or will be
		return b.Status() != wamble.Dormant && !b.Reserved().Add(p.boards.Options().Reservation).After(w.now) ||
			b.Holder() != 0 && (p.sessions.ByID(b.Holder()) == nil)
	}
	for b := range old.boards.All() {
		got := p.boards.Board(b.ID())
		if got == nil {
			w.t.Fatalf("board %d did not come back", b.ID())
		}
		if late(b) {
			continue
		}
		if is, was := boardText(got), boardText(b); is != was {
			w.t.Fatalf("a board came back as %s, was %s", is, was)
		}
	}
	if got, want := p.boards.Len(), old.boards.Len(); got != want {
		w.t.Fatalf("%d boards came back, want %d", got, want)
	}
	if got, want := pendingOf(p), pendingOf(old); !maps.Equal(got, want) {
		w.t.Fatalf("the predictions %v came back, want %v", got, want)
	}
	for s := range old.sessions.All() {
		got := p.sessions.ByID(s.ID())
		if got == nil {
			if !p.unstored.sessions[s.ID()] && p.unstored.any() && w.store.session(s.ID()) == nil {
				w.t.Fatalf("session %d did not come back", s.ID())
			}
			continue
		}
		if got.Hash() != s.Hash() || got.HostText() != s.HostText() || got.Trust() != s.Trust() ||
			(got.Identity() == nil) != (s.Identity() == nil) || got.Games() != s.Games() {
			w.t.Fatalf("session %d came back with %+v, had %+v", s.ID(), got.Games(), s.Games())
		}
		if i := s.Identity(); i != nil && (got.Identity().Key() != i.Key() || got.Identity().ID() != i.ID() ||
			got.Identity().Handle() != i.Handle() || math.Abs(got.Identity().Rating()-i.Rating()) > 1e-6) {
			w.t.Fatalf("the identity of session %d came back with a rating of %v, had %v", s.ID(), got.Identity().Rating(), i.Rating())
		}
	}
}

func boardText(b *board.Board) string {
	text := fmt.Sprintf("%d %s %v v%d by %d %v %v %v", b.ID(), b.FEN(), b.Status(), b.Version(), b.Holder(),
		b.LastAssigned(), b.Reserved(), b.Created())
	for m := range b.Moves() {
		text += fmt.Sprintf(" %v/%d", m.Move, m.Session)
	}
	return text
}

// pendingOf is the pending predictions.
func pendingOf(p *Profile) map[wamble.PredictionID]wamble.Prediction {
	pending := map[wamble.PredictionID]wamble.Prediction{}
	for t := range p.audience.predictions.Walk() {
		r := pack.NewReader(t.AppendState(nil))
		_, rows := predict.ReadTree(&r)
		for _, row := range rows {
			if row.Status == wamble.Pending {
				pending[row.ID] = row
			}
		}
	}
	return pending
}

// sameState checks that a process that was handed over has the memory of the one before: it would hand over the
// same bytes, in another order where the order of the memory does not count.
func (w *world) sameState(state []Input, old *Profile) {
	w.t.Helper()
	w.sameMemory(w.p, old)
	if len(old.loads.byID) > 0 { // their requests were handled again
		return
	}
	was, is := bytesByKind(state), bytesByKind(handedOver(w.t, w.p))
	// Sessions and spectators begin with their clocks. If the step has moved one on, it has also done what was due.
	clock := map[byte]int{'S': binary.MaxVarintLen64, 'V': 28}
	for kind := range was {
		if n := clock[kind]; n > 0 && !bytes.Equal(is[kind][:min(n, len(is[kind]))], was[kind][:min(n, len(was[kind]))]) {
			continue
		}
		if kind != 'C' && kind != 'L' && !bytes.Equal(is[kind], was[kind]) { // these count the step
			w.t.Fatalf("slices %c: %x became %x", kind, was[kind], is[kind])
		}
	}
}

func bytesByKind(state []Input) map[byte][]byte {
	all := map[byte][]byte{}
	for _, in := range state {
		if in, ok := in.(*ResumeSlice); ok {
			all[in.Data[0]] = append(all[in.Data[0]], in.Data[1:]...)
		}
	}
	for _, kind := range []byte{sliceIdentities, sliceBoards, slicePredictions, 'U'} {
		slices.Sort(all[kind])
	}
	// A watcher whose check is overdue is checked by the step, which asks the connections when they were heard last:
	// of each watcher the fifth and sixth number are left out.
	const head, size, number = 20 + 3*8, 10*8 + 16 + 3, 8
	if of := all['V']; len(of) > head {
		for watcher := range slices.Chunk(of[head:], size) {
			clear(watcher[4*number : 6*number])
		}
	}
	return all
}
